// RF101 on calls made in memory, after the rows of the capture table: what its
// finding says and how it counts.
#include "audit/audit.hpp"
#include "tests/audit/build.hpp"
#include "tests/catch.hpp"

using namespace refrain;
using namespace refrain::test;

namespace {

class Calls {
 public:
  Calls& call(Api api, Target target, std::int32_t code, std::uint32_t capture = 1) {
    ApiEvent event;
    event.sequence = timeline_.calls.size() + 1;
    event.thread = 1;
    event.stream = target == Target::capturing ? 3 : 4;
    event.api = api;
    event.target = target;
    event.code = code;
    event.capture = capture;
    event.mode = mode;
    timeline_.calls.push_back(event);
    return *this;
  }
  [[nodiscard]] std::vector<Finding> findings() const {
    std::vector<Finding> found;
    for (const Finding& finding : audit({{{"calls", {}, timeline_, true}}}).findings())
      if (finding.rule == "RF101") found.push_back(finding);
    return found;
  }
  CaptureMode mode = CaptureMode::global;

 private:
  Timeline timeline_;
};

}  // namespace

TEST_CASE("RF101: a sync of the capturing stream is one finding, and the 901s after it are not") {
  Calls calls;
  calls.call(Api::begin_capture, Target::capturing, 0)
      .call(Api::launch_kernel, Target::capturing, 0)
      .call(Api::stream_synchronize, Target::capturing, 900)
      .call(Api::launch_kernel, Target::capturing, 901)
      .call(Api::end_capture, Target::capturing, 901);
  const auto found = calls.findings();
  REQUIRE(found.size() == 1);
  CHECK(found[0].severity == Severity::error);
  CHECK(found[0].certainty == Certainty::proven);
  CHECK(found[0].where == "capture 1, cudaStreamSynchronize on stream 3");
  CHECK(found[0].message.find("900 (cudaErrorStreamCaptureUnsupported)") != std::string::npos);
  CHECK(found[0].message.find("global capture") != std::string::npos);
  REQUIRE(found[0].evidence.size() == 1);
  CHECK(found[0].evidence[0].starts_with("2 later calls"));
}

TEST_CASE("RF101: a query of an event of the capture comes back 907 and is one") {
  Calls calls;
  calls.mode = CaptureMode::thread_local_;
  calls.call(Api::begin_capture, Target::capturing, 0)
      .call(Api::event_record, Target::capturing, 0)
      .call(Api::event_query, Target::captured_event, 907);
  const auto found = calls.findings();
  REQUIRE(found.size() == 1);
  CHECK(found[0].message.find("907") != std::string::npos);
  CHECK(found[0].message.find("thread_local") != std::string::npos);
}

TEST_CASE("RF101: each capture has its own first violation") {
  Calls calls;
  calls.call(Api::begin_capture, Target::capturing, 0, 1)
      .call(Api::device_synchronize, Target::none, 900, 1)
      .call(Api::device_synchronize, Target::none, 900, 1)
      .call(Api::begin_capture, Target::capturing, 0, 2)
      .call(Api::stream_query, Target::capturing, 900, 2);
  const auto found = calls.findings();
  REQUIRE(found.size() == 2);
  CHECK(found[0].fingerprint != found[1].fingerprint);
}

TEST_CASE("RF101: a sync outside a capture, one that passes, and a refused call of another kind are none") {
  Calls outside, passed, malloc;
  outside.call(Api::stream_synchronize, Target::other, 900, 0);
  passed.mode = CaptureMode::relaxed;
  passed.call(Api::begin_capture, Target::capturing, 0).call(Api::stream_synchronize, Target::other, 0);
  malloc.call(Api::begin_capture, Target::capturing, 0).call(Api::malloc, Target::none, 900);
  CHECK(outside.findings().empty());
  CHECK(passed.findings().empty());
  CHECK(malloc.findings().empty());
}

TEST_CASE("RF101: without calls it is not checked") {
  const Report report = audit_graphs({Graph{}});
  CHECK_FALSE(report.was_checked("RF101"));
  Calls calls;
  calls.call(Api::launch_kernel, Target::capturing, 0);
  CHECK(calls.findings().empty());
}
