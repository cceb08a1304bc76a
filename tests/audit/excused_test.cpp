// Baselines and suppressions: what lets a finding pass, and that nothing passes in silence.
#include <nlohmann/json.hpp>

#include "audit/baseline.hpp"
#include "audit/suppressions.hpp"
#include "graphs/error.hpp"
#include "tests/audit/build.hpp"
#include "tests/catch.hpp"

using namespace refrain;
using namespace refrain::test;
using nlohmann::json;

namespace {

/// Two layers that count into one scratch that nobody zeroes: findings of the same rule, told apart by their turn.
Report two_findings(std::string input = "a.json") {
  Graph graph = graph_of({counts(0), counts(1)}, {{0, 1}}, 2);
  return audit_graphs({graph}, std::move(input));
}

std::vector<std::string> standings(const Report& report) {
  std::vector<std::string> list;
  for (const Finding& finding : report.findings()) list.emplace_back(to_string(finding.standing));
  return list;
}

Report suppressed(const json& entries, std::string_view day = "2026-06-01") {
  Report report = two_findings();
  apply_suppressions(report, read_suppressions(entries, "s.json"), day, "s.json");
  return report;
}

std::string refusal(const json& entries) {
  try {
    (void)read_suppressions(entries, "s.json");
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

bool contains(const std::string& text, std::string_view words) {
  return text.find(words) != std::string::npos;
}

}  // namespace

TEST_CASE("baseline: what stood in an earlier report is known and does not count") {
  Report report = two_findings();
  REQUIRE(report.findings().size() == 2);
  const json before = json::parse(report_json(report));
  Baseline(before, "b.json").apply(report);
  CHECK(standings(report) == std::vector<std::string>{"known", "known"});
  CHECK(report.exit_code() == 0);
  CHECK(report.count(Severity::error) == 0);
  CHECK(report.remarks.empty());
}

TEST_CASE("baseline: a finding that did not stand there counts") {
  Report report = two_findings();
  json before = json::parse(report_json(report));
  before["findings"].erase(0);
  Baseline(before, "b.json").apply(report);
  CHECK(standings(report) == std::vector<std::string>{"open", "known"});
  CHECK(report.exit_code() == 1);
}

TEST_CASE("baseline: one fingerprint covers one finding and not all that share it") {
  Report report = two_findings("a.json");
  const json before = json::parse(report_json(report));
  report.merge(two_findings("b.json"));  // the same graph in another file: the same fingerprints
  REQUIRE(report.findings()[0].fingerprint == report.findings()[2].fingerprint);
  Baseline(before, "b.json").apply(report);
  CHECK(standings(report) == std::vector<std::string>{"known", "known", "open", "open"});
}

TEST_CASE("baseline: what is gone is said") {
  Report report = two_findings();
  const json before = json::parse(report_json(report));
  Report clean = audit_graphs({});
  Baseline(before, "b.json").apply(clean);
  REQUIRE(clean.remarks.size() == 1);
  CHECK(contains(clean.remarks[0], "2 of the findings in b.json were not found again"));
}

TEST_CASE("baseline: what was suppressed when it was written is not known") {
  Report report = suppressed(json::parse(R"([{"rule":"RF301","reason":"later"}])"));
  const json before = json::parse(report_json(report));
  Report next = two_findings();
  Baseline(before, "b.json").apply(next);
  CHECK(standings(next) == std::vector<std::string>{"open", "open"});
}

TEST_CASE("baseline: a file of another kind is refused with its place") {
  const auto refused = [](const char* text) {
    try {
      const Baseline baseline(json::parse(text), "b.json");
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  CHECK(contains(refused("[]"), "b.json: expected a report of refrain audit"));
  CHECK(contains(refused("{}"), "schema"));
  CHECK(contains(refused(R"({"schema":"refrain.run/1"})"), "refrain.audit/1"));
  CHECK(contains(refused(R"({"schema":"refrain.audit/1"})"), "findings"));
  CHECK(contains(refused(R"({"schema":"refrain.audit/1","findings":[{}]})"), "findings[0]"));
  CHECK(contains(refused(R"({"schema":"refrain.audit/1","findings":[3]})"), "findings[0]"));
}

TEST_CASE("suppressions: rule and fingerprint and where must all fit") {
  const std::string print = two_findings().findings()[1].fingerprint;
  const json by_print = json::array({{{"rule", "RF301"}, {"fingerprint", print}, {"reason", "r"}}});
  CHECK(standings(suppressed(by_print)) == std::vector<std::string>{"open", "suppressed"});
  const Report by_place = suppressed(json::parse(R"([{"where":"*buffer_b","reason":"scratch of the host"}])"));
  CHECK(standings(by_place) == std::vector<std::string>{"open", "suppressed"});
  CHECK(by_place.findings()[1].excuse == "scratch of the host");
  CHECK(by_place.exit_code() == 1);
  CHECK(suppressed(json::parse(R"([{"rule":"RF301","reason":"r"}])")).exit_code() == 0);
  CHECK(suppressed(json::parse(R"([{"rule":"RF302","where":"*","reason":"r"}])")).exit_code() == 1);
}

TEST_CASE("suppressions: an entry holds to the end of its day and then says that it is over") {
  const json entry = json::parse(R"([{"rule":"RF301","reason":"r","expires":"2026-06-01"}])");
  CHECK(suppressed(entry, "2026-06-01").exit_code() == 0);
  CHECK(suppressed(entry, "2026-06-01").findings()[0].excuse == "r, until 2026-06-01");
  const Report over = suppressed(entry, "2026-06-02");
  CHECK(over.exit_code() == 1);
  REQUIRE(over.remarks.size() == 1);
  CHECK(over.remarks[0] ==
        "s.json: [0] RF301 expired on 2026-06-01 and suppresses nothing any more: 2 findings count again");
}

TEST_CASE("suppressions: an entry that matches nothing is named") {
  const Report report = suppressed(json::parse(R"([{"rule":"RF103","where":"step x","reason":"r"}])"));
  REQUIRE(report.remarks.size() == 1);
  CHECK(report.remarks[0] == "s.json: [0] RF103 step x matches no finding: remove it");
}

TEST_CASE("suppressions: a bad file is refused with its place and what was expected") {
  CHECK(contains(refusal(json::parse("{}")), "an array"));
  CHECK(contains(refusal(json::parse("[3]")), "[0]"));
  CHECK(contains(refusal(json::parse(R"([{"rule":"RF301"}])")), "reason"));
  CHECK(contains(refusal(json::parse(R"([{"rule":"RF301","reason":" "}])")), "reason"));
  CHECK(contains(refusal(json::parse(R"([{"reason":"r"}])")), "a fingerprint or a where"));
  CHECK(contains(refusal(json::parse(R"([{"rule":"RF999","reason":"r"}])")), "RF999"));
  CHECK(contains(refusal(json::parse(R"([{"rule":"RF301","reason":"r","until":"x"}])")), "until"));
  for (const char* day : {"2026-2-1", "2026-02-29", "2026-13-01", "2026-00-10", "20260101", "2026-01-0x", "tomorrow"})
    CHECK(contains(refusal(json::array({{{"rule", "RF301"}, {"reason", "r"}, {"expires", day}}})), "YYYY-MM-DD"));
  CHECK(refusal(json::parse(R"([{"rule":"RF301","reason":"r","expires":"2028-02-29"}])")) == "accepted");
}

TEST_CASE("suppressions: a pattern's star stands for any text and its question mark for one character") {
  CHECK(matches_pattern("*", ""));
  CHECK(matches_pattern("a*c", "abbc"));
  CHECK(matches_pattern("a*b*c", "axxbyybzzc"));
  CHECK(matches_pattern("node ?", "node 3"));
  CHECK_FALSE(matches_pattern("node ?", "node 33"));
  CHECK_FALSE(matches_pattern("a*c", "abd"));
  CHECK_FALSE(matches_pattern("", "a"));
  CHECK_FALSE(matches_pattern("[a]", "a"));
  // Many stars over a long text that fits to the last character but one: no exponential search.
  CHECK_FALSE(matches_pattern("*a*a*a*a*a*a*a*a*a*b", std::string(20000, 'a')));
}

TEST_CASE("suppressions: today is ten characters that compare as text") {
  CHECK(today().size() == 10);
  CHECK(today() > "2025-01-01");
  CHECK(today() < "2999-01-01");
}
