// Windows that open inside a capture: it is named, its graph is read, and nobody guesses
// what was called before, or by whom.
#include <algorithm>
#include <set>

#include "audit/audit.hpp"
#include "audit/captures.hpp"
#include "tests/catch.hpp"
#include "tests/cupti/live_world.hpp"

using namespace refrain;
using namespace refrain::test;

namespace {

constexpr std::uint64_t kStream = 0x5500, kOther = 0x5600;

std::set<std::string> errors_of(const Recording& recording) {
  const Subject subject{{recording}};
  const Report report = audit(subject);
  std::set<std::string> rules;
  for (const Finding& finding : report.findings())
    if (finding.severity == Severity::error) rules.insert(finding.rule);
  return rules;
}

}  // namespace

TEST_CASE("missed begin: a capture that had begun before anyone listened is named and not judged") {
  LiveWorld world;
  world.fake.allocate(0x1000, 4096);
  world.fake.graphs[0x90] = kernel_over(world.fake.memory[0x1000]);
  world.fake.capturing[kStream] = 77;
  world.launch(kStream);
  // In a capture that was seen whole these two are rules 501 and 502; here who captures, and how, is not known.
  world.launch(kOther, 0x20);
  world.runtime("cudaMemcpy_v3020", {.address = 0x1000, .source = 0x99, .bytes = 64}, "cuMemcpyHtoD_v2");
  world.fake.capturing.clear();
  world.end(kStream, 0x90);
  world.instantiate(0x90, 0xa0);
  world.replay(0xa0, kStream);
  world.launch(kStream);
  const Recording recording = world.recording();
  const auto& calls = recording.timeline.calls;
  CHECK(calls[0].capture == 1);
  CHECK(calls[0].target == Target::capturing);
  CHECK(calls.back().capture == 0);  // it is over
  REQUIRE(recording.graphs.size() == 1);
  const Report report = audit(Subject{{recording}});
  CHECK(report.findings().empty());
  for (const char* rule : {"RF101", "RF201", "RF501", "RF502", "RF503", "RF504", "RF505", "RF506"}) {
    INFO(rule);
    CHECK_FALSE(report.was_checked(rule));
  }
  CHECK(report.was_checked("RF103"));  // the graph itself was read when its capture ended
  const auto told = std::find_if(report.not_checked().begin(), report.not_checked().end(),
                                 [](const NotChecked& n) { return n.rule == "RF501"; });
  REQUIRE(told != report.not_checked().end());
  CHECK(told->reason.find("capture 1, of stream 1, had begun before the recording did") != std::string::npos);
}

TEST_CASE("missed begin: a capture of which only the end was seen is named too") {
  LiveWorld world;
  world.fake.graphs[0x90] = kernel_over(world.fake.allocate(0x1000, 64));
  world.fake.capturing[kStream] = 77;
  world.end(kStream, 0x90);
  world.begin(kStream);
  world.launch(kStream);
  world.launch(kOther, 0x20);
  world.end(kStream, 0x90);
  const Recording recording = world.recording();
  const auto captures = captures_of(recording.timeline);
  REQUIRE(captures.size() == 2);
  CHECK(captures[0].begin == nullptr);
  CHECK(captures[1].begin != nullptr);
  // The next one on the same stream is judged as ever.
  CHECK(errors_of(recording) == std::set<std::string>{"RF501"});
  CHECK_FALSE(audit(Subject{{recording}}).was_checked("RF501"));
}

TEST_CASE("missed begin: a stream that was forked into such a capture is of it and its origin ends it") {
  LiveWorld world;
  world.fake.graphs[0x90] = kernel_over(world.fake.allocate(0x1000, 64));
  world.fake.capturing[kStream] = 77;
  world.fake.capturing[kOther] = 77;
  world.launch(kOther, 0x20);
  world.launch(kStream);
  world.end(kStream, 0x90);
  world.launch(kOther, 0x20);
  const Recording recording = world.recording();
  const auto& calls = recording.timeline.calls;
  CHECK(calls[0].capture == 1);
  CHECK(calls[1].capture == 1);
  CHECK(calls[3].capture == 0);
  CHECK(audit(Subject{{recording}}).findings().empty());
}

TEST_CASE("missed begin: a capture that died before its begin could be seen has no violation to name") {
  LiveWorld world;
  world.fake.capturing[kStream] = 77;
  world.launch(kStream, 0x10, 901);
  world.end(kStream, 0, 901);
  const Report report = audit(Subject{{world.recording()}});
  CHECK(report.findings().empty());
  CHECK_FALSE(report.was_checked("RF505"));
}
