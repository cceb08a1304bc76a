// `refrain audit` in a pipeline: where reports go, what lets a finding pass, and the exit codes.
#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/catch.hpp"
#include "tests/cli/program.hpp"

using namespace refrain::test;
using Json = nlohmann::ordered_json;

namespace {

/// RF103 (error) and RF202 (warning).
std::string bad_dump() {
  return sample("memset_memcpy_alloc.dot");
}

bool contains(const std::string& text, std::string_view words) {
  return text.find(words) != std::string::npos;
}

void check_refused(const std::string& arguments, std::initializer_list<const char*> words) {
  const Outcome outcome = refrain_program("audit " + bad_dump() + " " + arguments);
  INFO(arguments << "\n" << outcome.err);
  CHECK(outcome.exit_code == 2);
  CHECK(outcome.out.empty());
  CHECK(std::count(outcome.err.begin(), outcome.err.end(), '\n') == 1);
  for (const char* word : words) CHECK(contains(outcome.err, word));
}

}  // namespace

TEST_CASE("audit reports: --output takes the report and standard output stays empty") {
  const std::string file = temporary_file("out.json", "old");
  const Outcome outcome = refrain_program("audit " + bad_dump() + " --format json --output " + file);
  CHECK(outcome.exit_code == 1);
  CHECK(outcome.out.empty());
  CHECK(Json::parse(read_text(file)).at("summary").at("errors") == 1);
}

TEST_CASE("audit reports: one run writes as many reports as are asked for") {
  const std::string sarif = temporary_file("a.sarif", ""), junit = temporary_file("a.xml", ""),
                    page = temporary_file("a.html", "");
  const Outcome outcome = refrain_program("audit " + bad_dump() + " --report sarif=" + sarif +
                                          " --report junit=" + junit + " --report html=" + page);
  CHECK(outcome.exit_code == 1);
  CHECK(contains(outcome.out, "error RF103"));
  CHECK(Json::parse(read_text(sarif)).at("version") == "2.1.0");
  CHECK(read_text(junit).starts_with("<?xml"));
  CHECK(read_text(page).starts_with("<!DOCTYPE html>"));
}

TEST_CASE("audit reports: in a pipe there is no colour") {
  CHECK_FALSE(contains(refrain_program("audit " + bad_dump()).out, "\x1b"));
}

TEST_CASE("audit reports: a report that cannot be written leaves the old file and is exit 2") {
  check_refused("--output /nonexistent/x.json", {"/nonexistent/x.json"});
  check_refused("--report sarif", {"--report sarif", "FORMAT=FILE"});
  check_refused("--report =x", {"FORMAT=FILE"});
  check_refused("--report yaml=x", {"yaml", "sarif"});
  check_refused("--format yaml", {"--format", "yaml", "sarif"});
}

TEST_CASE("audit reports: a run passes against the baseline that it wrote") {
  const std::string file = temporary_file("baseline.json", "");
  CHECK(refrain_program("audit " + bad_dump() + " --write-baseline " + file).exit_code == 1);
  const Outcome again = refrain_program("audit " + bad_dump() + " --baseline " + file);
  CHECK(again.exit_code == 0);
  CHECK(contains(again.out, "nothing new; 2 known"));
  const Outcome more =
      refrain_program("audit " + bad_dump() + " " + sample("all_kinds_verbose.dot") + " --baseline " + file);
  CHECK(more.exit_code == 1);
  CHECK(contains(more.out, "1 error, 2 warnings, 0 notes; 2 known"));
}

TEST_CASE("audit reports: a suppression lets its finding pass until its last day") {
  const auto with = [](const std::string& entries) {
    return refrain_program("audit " + bad_dump() + " --suppress " + temporary_file("suppress.json", entries));
  };
  CHECK(with(R"([{"rule":"RF103","reason":"warm-up only","expires":"2999-12-31"}])").exit_code == 0);
  const Outcome over = with(R"([{"rule":"RF103","reason":"warm-up only","expires":"2001-01-01"}])");
  CHECK(over.exit_code == 1);
  CHECK(contains(over.out, "expired on 2001-01-01"));
  const Outcome idle = with(R"([{"rule":"RF301","reason":"r"}])");
  CHECK(idle.exit_code == 1);
  CHECK(contains(idle.out, "matches no finding"));
}

TEST_CASE("audit reports: a suppressed error leaves a required rule that was not checked at exit 3") {
  const std::string file = temporary_file("suppress3.json", R"([{"rule":"RF103","reason":"r"}])");
  CHECK(refrain_program("audit " + bad_dump() + " --require RF401 --suppress " + file).exit_code == 3);
}

TEST_CASE("audit reports: bad baselines and suppressions are one line and exit 2") {
  check_refused("--baseline /nonexistent.json", {"/nonexistent.json"});
  check_refused("--baseline " + temporary_file("b1.json", "{"), {"b1.json", "byte"});
  check_refused("--baseline " + temporary_file("b2.json", R"({"schema":"refrain.graph/1"})"),
                {"b2.json", "refrain.audit/1"});
  check_refused("--suppress " + temporary_file("s1.json", "[1]"), {"s1.json", "[0]"});
  check_refused("--suppress " + temporary_file("s2.json", R"([{"rule":"RF103"}])"), {"s2.json", "reason"});
  check_refused("--suppress " + temporary_file("s3.json", R"([{"rule":"RF103","rule":"RF202","reason":"r"}])"),
                {"s3.json", "rule"});
}

TEST_CASE("audit reports: each input keeps its own findings and reasons") {
  const Json report =
      Json::parse(refrain_program("audit --format json " + bad_dump() + " " + sample("llama_decode.dot")).out);
  CHECK(report.at("inputs") == Json::array({bad_dump(), sample("llama_decode.dot")}));
  for (const Json& finding : report.at("findings")) CHECK(finding.at("input") == bad_dump());
  const auto& reasons = report.at("not_checked");
  CHECK(std::any_of(reasons.begin(), reasons.end(),
                    [](const Json& item) { return item.at("input") == sample("llama_decode.dot"); }));
}

TEST_CASE("diff: graphs of two recordings are paired by name") {
  const std::string a = temporary_file("a.refrain", ""), b = temporary_file("b.refrain", "");
  const std::string run = "run --step grouped_prefill --context 64 --device host --fault ";
  (void)refrain_program(run + "pad-fix-late --save-recording " + a);
  (void)refrain_program(run + "pad-fix-off --save-recording " + b);
  CHECK(refrain_program("diff " + a + " " + a).exit_code == 0);
  const Outcome drift = refrain_program("diff " + a + " " + b);
  CHECK(drift.exit_code == 1);
  CHECK(contains(drift.out, "census: kernel pad_fix: 1 -> 0"));
  CHECK(contains(drift.out, "exec update: refused"));
  // Dumps of several graphs: those that only one side has are drift too.
  const Outcome sides = refrain_program("diff --format json " + sample("all_kinds_verbose.dot") + " " + bad_dump());
  CHECK(sides.exit_code == 1);
}

TEST_CASE("diff: graphs of one file are told apart by their names") {
  const std::string one =
      R"({"type":"graph","graph":{"schema":"refrain.graph/1","name":"decode","nodes":[],"edges":[],"buffers":[],"entry":[]}})";
  const std::string two =
      R"({"type":"graph","graph":{"schema":"refrain.graph/1","name":"prefill","nodes":[],"edges":[],"buffers":[],"entry":[]}})";
  const std::string head = "{\"schema\":\"refrain.recording/1\",\"name\":\"x\"}\n";
  const std::string both = temporary_file("both.jsonl", head + one + "\n" + two + "\n"),
                    swapped = temporary_file("swapped.jsonl", head + two + "\n" + one + "\n"),
                    single = temporary_file("single.jsonl", head + two + "\n");
  CHECK(refrain_program("diff " + both + " " + swapped).exit_code == 0);
  const Outcome lost = refrain_program("diff --format json " + both + " " + single);
  INFO(lost.out << lost.err);
  CHECK(lost.exit_code == 1);
  CHECK(Json::parse(lost.out).at("only_in_a") == Json::array({"decode"}));
}
