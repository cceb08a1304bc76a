// What the rules on timelines say beside their findings: what they could not
// check, and what the evidence and the fix name. Their cases are in tests/cases.
#include <limits>

#include "audit/audit.hpp"
#include "tests/audit/build.hpp"
#include "tests/audit/calls.hpp"
#include "tests/catch.hpp"

using namespace refrain;
using namespace refrain::test;

namespace {

std::vector<Finding> findings_of(const Calls& calls, const std::string& rule) {
  std::vector<Finding> found;
  for (const Finding& finding : audit(Subject{{calls.recording}}).findings())
    if (finding.rule == rule) found.push_back(finding);
  return found;
}

void check_of(Calls& calls, CheckKind kind, bool bit_equal = true) {
  ReplayCheck check;
  check.sequence = calls.now() + 1;
  check.kind = kind;
  check.bit_equal = bit_equal;
  calls.recording.timeline.checks.push_back(check);
}

/// Begins a capture of stream 3 by thread 1.
void begin(Calls& calls, CaptureMode mode) {
  ApiEvent& call = calls.call(Api::begin_capture, 3);
  call.capture = 1;
  call.mode = mode;
  call.target = Target::capturing;
}

ApiEvent& inside(Calls& calls, Api api, std::int32_t code, Target target, CaptureMode mode) {
  ApiEvent& call = calls.call(api, target == Target::capturing ? 3 : 0);
  call.capture = 1;
  call.mode = mode;
  call.code = code;
  call.target = target;
  return call;
}

bool has(const std::vector<std::string>& sentences, std::string_view part) {
  for (const std::string& sentence : sentences)
    if (sentence.find(part) != std::string::npos) return true;
  return false;
}

}  // namespace

TEST_CASE("timeline rules: a graph alone leaves every one of them unchecked") {
  const Report report = audit_graphs({graph_of({op("work")}, {})});
  for (const char* rule : {"RF407", "RF409", "RF410", "RF501", "RF502", "RF503", "RF504", "RF505", "RF506", "RF901",
                           "RF902", "RF903", "RF904"}) {
    INFO(rule);
    CHECK_FALSE(report.was_checked(rule));
  }
}

TEST_CASE("timeline rules: a graph whose launches nothing ties to it is told") {
  Calls calls;
  calls.call(Api::graph_launch, 3, 21);
  calls.recording.graphs.push_back(graph_of({op("work")}, {}));
  const Report report = audit(Subject{{calls.recording}});
  CHECK_FALSE(report.was_checked("RF407"));
  CHECK_FALSE(report.was_checked("RF409"));
  CHECK_FALSE(report.was_checked("RF410"));
}

TEST_CASE("timeline rules: a replay check of one kind leaves the others unchecked") {
  Calls calls;
  check_of(calls, CheckKind::poison);
  const Report report = audit(Subject{{calls.recording}});
  CHECK(report.was_checked("RF901"));
  CHECK_FALSE(report.was_checked("RF902"));
  CHECK_FALSE(report.was_checked("RF903"));
  CHECK(report.was_checked("RF904"));
}

TEST_CASE("RF503: the advice is thread_local where that helps, and never relaxed") {
  for (const CaptureMode mode : {CaptureMode::global, CaptureMode::thread_local_}) {
    for (const Api api : {Api::malloc, Api::device_synchronize}) {
      if (mode == CaptureMode::thread_local_ && api == Api::malloc) continue;  // passes
      Calls calls;
      begin(calls, mode);
      inside(calls, api, 900, Target::none, mode).thread = 2;
      const auto found = findings_of(calls, "RF503");
      REQUIRE(found.size() == 1);
      CHECK(found[0].message.find("thread 2 called") != std::string::npos);
      CHECK(found[0].message.find("thread 1 was capturing") != std::string::npos);
      const bool helps = api == Api::malloc;
      CHECK(found[0].fix.starts_with(helps ? "capture in thread_local mode" : "no capture mode lets"));
    }
  }
}

TEST_CASE("RF501: work after the capture was broken is no finding of its own") {
  Calls calls;
  begin(calls, CaptureMode::global);
  inside(calls, Api::device_synchronize, 900, Target::none, CaptureMode::global);
  inside(calls, Api::launch_kernel, 0, Target::other, CaptureMode::global).stream = 4;
  CHECK(findings_of(calls, "RF501").empty());
  CHECK(findings_of(calls, "RF101").size() == 1);
}

TEST_CASE("RF504: an empty graph is a consequence of the work that escaped it") {
  Calls calls;
  begin(calls, CaptureMode::global);
  inside(calls, Api::launch_kernel, 0, Target::legacy, CaptureMode::global);
  inside(calls, Api::end_capture, 0, Target::capturing, CaptureMode::global).made = 11;
  calls.graph(11);
  const auto found = findings_of(calls, "RF504");
  REQUIRE(found.size() == 1);
  CHECK(has(found[0].evidence, "no nodes"));
  CHECK(findings_of(calls, "RF605").empty());
}

TEST_CASE("RF505: a second capture that the same call killed is explained by the first") {
  Calls calls;
  begin(calls, CaptureMode::global);
  ApiEvent& second = calls.call(Api::begin_capture, 6);
  second.capture = 2;
  second.thread = 2;
  ApiEvent& malloc = calls.call(Api::malloc);
  malloc.capture = 2;
  malloc.thread = 2;
  malloc.code = 900;
  ApiEvent& end = calls.call(Api::end_capture, 3);
  end.capture = 1;
  end.code = 901;
  CHECK(findings_of(calls, "RF505").empty());
}

TEST_CASE("RF506: a load that passed is a warning, with the time it took") {
  Calls calls;
  begin(calls, CaptureMode::relaxed);
  inside(calls, Api::module_load, 0, Target::none, CaptureMode::relaxed).end_ns = 2'000'000'000;
  const auto found = findings_of(calls, "RF506");
  REQUIRE(found.size() == 1);
  CHECK(found[0].severity == Severity::warning);
  CHECK(has(found[0].evidence, "2000.0 ms"));
}

TEST_CASE("RF902: an error that is not a number fails") {
  Calls calls;
  check_of(calls, CheckKind::eager);
  calls.recording.timeline.checks.back().tolerance = 0.5;
  CHECK(findings_of(calls, "RF902").empty());
  calls.recording.timeline.checks.back().max_abs_error = std::numeric_limits<double>::quiet_NaN();
  CHECK(findings_of(calls, "RF902").size() == 1);
}
