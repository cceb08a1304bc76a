// A review: its steps and findings agree, its writers say what it holds, and
// what was guessed is never called proven.
#include "audit/review/review.hpp"

#include <nlohmann/json.hpp>

#include "audit/audit.hpp"
#include "audit/review/amounts.hpp"
#include "audit/review/step_kinds.hpp"
#include "audit/review/text_table.hpp"
#include "audit/steps.hpp"
#include "graphs/error.hpp"
#include "tests/catch.hpp"
#include "tests/traces/step_world.hpp"
#include "traces/readers.hpp"

using namespace refrain;
using namespace refrain::test;
using Json = nlohmann::ordered_json;

namespace {

std::string sample(const std::string& name) {
  return REFRAIN_SOURCE_DIR "/traces/samples/" + name;
}

bool contains(const std::string& text, std::string_view words) {
  return text.find(words) != std::string::npos;
}

/// Steps that wait in their middle, in ranges of these names or in none.
Recording waiting(const std::vector<std::string>& names, bool slow = false) {
  StepWorld world;
  for (const std::string& name : names) {
    if (!name.empty()) world.open(name);
    world.open("sampling");
    world.launch(1);
    world.work(world.now_ns, world.now_ns + 5);
    world.call(Api::stream_synchronize);
    if (slow) world.now_ns += 70;
    world.close();
    world.call(Api::launch_kernel, "sample");
    world.work(world.now_ns, world.now_ns + 5);
    world.call(Api::event_synchronize);
    if (!name.empty()) world.close();
  }
  return {"trace", {}, world.timeline, true};
}

const Finding& only(const Review& review) {
  REQUIRE(review.report.findings().size() == 1);
  return review.report.findings().front();
}

}  // namespace

TEST_CASE("review: steps and their number are the audit's and its findings are those of an audit") {
  for (const char* name : {"decode_graph_clean.json.gz", "decode_graph_hostsync.json.gz", "decode_eager.json.gz",
                           "capture_escapes.json.gz"}) {
    INFO(name);
    const Review reviewed = review(load_recording(sample(name)));
    const auto steps = steps_of(reviewed.timeline());
    REQUIRE(reviewed.steps.size() == steps.size());
    for (std::size_t i = 0; i < steps.size(); ++i) CHECK(reviewed.steps[i].first == steps[i].range->first);
    CHECK(report_json(reviewed.report) == report_json(audit(Subject{{load_recording(sample(name))}})));
  }
}

TEST_CASE("review: each step of the trace with host syncs has what its program did") {
  const Review reviewed = review(load_recording(sample("decode_graph_hostsync.json.gz")));
  REQUIRE(reviewed.steps.size() == 8);
  for (const StepStats& step : reviewed.steps) {
    CHECK(step.replays == 1);
    CHECK(step.replayed_nodes == 226);  // of llama_decode.dot
    CHECK(step.syncs == 2);
    CHECK(pageable_copies(step) == 1);
    CHECK(step.eager_launches == 1);
  }
  CHECK(reviewed.cut.basis == StepBasis::named_range);
  const auto kinds = step_kinds(reviewed);
  REQUIRE(kinds.size() == 1);
  CHECK(kinds[0].kind == "decode_step");
  CHECK(kinds[0].totals.sum.syncs == 16);
}

TEST_CASE("review: a finding names its step and its call and the range around it") {
  const Review reviewed = review(waiting({"step 1", "step 2", "step 3"}));
  const Finding& finding = only(reviewed);
  CHECK(finding.rule == "RF102");
  CHECK(finding.certainty == Certainty::proven);
  REQUIRE(finding.step);
  REQUIRE(finding.call);
  const StepStats& step = reviewed.steps.at(*finding.step - 1);
  CHECK(*finding.call > step.first);
  CHECK(*finding.call < step.last);
  bool said = false;
  for (const std::string& fact : finding.evidence) said = said || contains(fact, "range \"sampling\"");
  CHECK(said);
}

TEST_CASE("review: what is found in guessed steps is inferred") {
  StepWorld world;
  for (int i = 0; i < 5; ++i) {
    world.launch(1);
    world.work(world.now_ns, world.now_ns + 5);
    world.call(Api::stream_synchronize);
    world.call(Api::launch_kernel, "sample");
    world.call(Api::stream_synchronize);
  }
  const Review reviewed = review({"trace", {}, world.timeline, true});
  CHECK(reviewed.cut.basis == StepBasis::replay);
  CHECK(only(reviewed).rule == "RF102");
  CHECK(only(reviewed).certainty == Certainty::inferred);
}

TEST_CASE("review: text holds the basis and a row a kind and the worst step and the audit's words") {
  const Review reviewed = review(load_recording(sample("decode_graph_hostsync.json.gz")));
  const std::string text = review_text(reviewed);
  CHECK(contains(text, "8 steps, by named range"));
  CHECK(contains(text, "decode_step"));
  CHECK(contains(text, "worst step: "));
  CHECK(contains(text, "1 h2d pageable"));
  CHECK(contains(text, report_text(reviewed.report)));
  CHECK_FALSE(contains(text, "\x1b"));
}

TEST_CASE("review: JSON holds every step with its figures and null for what is not told") {
  const Json json = Json::parse(review_json(review(waiting({"step 1", "step 2"}))));
  CHECK(json.begin().key() == "schema");
  CHECK(json.at("schema") == "refrain.review/1");
  CHECK(json.at("steps_by").at("basis") == "named range");
  REQUIRE(json.at("steps").size() == 2);
  const Json& step = json.at("steps").at(1);
  CHECK(step.at("index") == 2);
  CHECK(step.at("name") == "step 2");
  CHECK(step.at("replays") == 1);
  CHECK(step.at("syncs") == 2);
  CHECK(step.at("captured_nodes").is_null());
  CHECK(json.at("totals").at("steps") == 2);
  CHECK(json.at("totals").at("replays") == 2);
  CHECK(json.at("findings").at(0).at("rule") == "RF102");
  CHECK(json.at("findings").at(0).at("step").is_number());
  CHECK(json.at("not_checked").is_array());
  CHECK(json.at("exit_code") == 1);
}

TEST_CASE("review: graphs alone are refused with a word on what does take them") {
  CHECK_THROWS_WITH(review(load_recording(sample("llama_decode.dot"))), Catch::Matchers::Contains("refrain audit"));
}

TEST_CASE("review: two traces show what became slower and which findings are new") {
  StepWorld clean;
  for (const char* name : {"step 1", "step 2"}) {
    clean.open(name);
    clean.launch(1);
    clean.work(clean.now_ns, clean.now_ns + 5);
    clean.close();
  }
  const Review before = review({"a", {}, clean.timeline, true}), after = review(waiting({"step 1", "step 2"}, true));
  const Json json = Json::parse(review_diff_json(before, after));
  CHECK(json.at("schema") == "refrain.review-diff/1");
  CHECK(json.at("new_findings").size() == 1);
  CHECK(json.at("gone_findings").empty());
  REQUIRE(json.at("kinds").size() == 1);
  CHECK(json.at("kinds").at(0).at("a").at("median_host_ns") == 10);
  CHECK(json.at("kinds").at(0).at("b").at("median_host_ns") == 110);  // four calls and the pause
  const std::string text = review_diff_text(before, after);
  CHECK(contains(text, "host median +1000.0 %"));
  CHECK(contains(text, "1 finding new, 0 gone, 0 in both"));
  CHECK(Json::parse(review_diff_json(after, before)).at("gone_findings").size() == 1);
}

TEST_CASE("review: times and bytes are short") {
  CHECK(duration_text(812) == "812 ns");
  CHECK(duration_text(12'340) == "12.3 us");
  CHECK(duration_text(4'560'000) == "4.56 ms");
  CHECK(duration_text(1'200'000'000) == "1.20 s");
  CHECK(bytes_text(999) == "999 B");
  CHECK(bytes_text(3'500'000) == "3.3 MiB");
  CHECK(text_table({{"a", "b"}, {"long", "1"}}) == "  a     b\n  long  1\n");
}
