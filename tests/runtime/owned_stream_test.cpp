// What is under way when its owner goes is waited for, and no capture is in its way.
#include "runtime/owned_stream.hpp"

#include <optional>
#include <set>

#include "runtime/run.hpp"
#include "runtime/runtime.hpp"
#include "tests/catch.hpp"
#include "tests/runtime/test_driver.hpp"

using namespace refrain;

namespace {

/// Counts the times that memory was unmapped, and those at which a stream still had work that nobody had waited for.
class WatchingDriver final : public Driver {
 public:
  explicit WatchingDriver(Driver& inner) : inner_(inner) {}

  [[nodiscard]] DeviceInfo device() const override { return inner_.device(); }
  [[nodiscard]] Status submit(Call& call) override {
    switch (call.api) {
      case Api::launch_kernel:
      case Api::memset_async:
      case Api::graph_launch:
      case Api::graph_upload: under_way_.insert(call.stream.id); break;
      case Api::stream_synchronize: under_way_.erase(call.stream.id); break;
      case Api::device_synchronize: under_way_.clear(); break;
      case Api::mem_unmap: ++unmapped, too_early += under_way_.empty() ? 0 : 1; break;
      default: break;
    }
    return inner_.submit(call);
  }
  [[nodiscard]] Status introspect(GraphHandle graph, Introspection& out) override {
    return inner_.introspect(graph, out);
  }
  [[nodiscard]] Status identify(Address address, Buffer& out) override { return inner_.identify(address, out); }

  int unmapped = 0, too_early = 0;

 private:
  Driver& inner_;
  std::set<std::uint64_t> under_way_;
};

constexpr std::uint64_t kBytes = std::uint64_t{64} << 20;

/// Milliseconds of a device's time: nothing that goes behind it finds it done. The host's driver is done at once.
void keep_busy(Runtime& runtime, Address address) {
  const int fills = runtime.driver.device().kind == "cuda" ? 200 : 1;
  for (int i = 0; i < fills; ++i)
    check(runtime.driver.fill(address, static_cast<std::uint8_t>(i), kBytes, runtime.stream), "fill");
}

}  // namespace

TEST_CASE("owned stream: memory goes behind the last of its work, also where an exception unwinds") {
  const auto driver = test::make_test_driver();
  WatchingDriver watching(*driver);
  const auto begin_and_fail = [&] {
    Runtime runtime(watching, kBytes);
    const Lease lease = runtime.arena.lease({"filled", kBytes, Role::scratch, Dtype::u8});
    keep_busy(runtime, lease.address());
    throw Error(ErrorKind::refused, "a step", "it can't be", "");
  };
  CHECK_THROWS_AS(begin_and_fail(), Error);
  CHECK(watching.unmapped > 0);
  CHECK(watching.too_early == 0);
  // A fill of memory that is no longer there is an error of the context, from then on that of every call.
  CHECK(driver->synchronize_device() == Status::success);
  CHECK(test::holds_nothing(*driver));
}

TEST_CASE("owned stream: it goes during a global capture of another stream, which stays whole") {
  const auto driver = test::make_test_driver();
  const OwnedStream capturing(*driver);
  std::optional<Runtime> runtime(std::in_place, *driver, kBytes);
  {
    const Lease lease = runtime->arena.lease({"filled", kBytes, Role::scratch, Dtype::u8});
    keep_busy(*runtime, lease.address());
  }
  check(driver->begin_capture(capturing, CaptureMode::global), "cudaStreamBeginCapture");
  runtime.reset();
  GraphHandle graph;
  CHECK(driver->end_capture(capturing, graph) == Status::success);
  CHECK(driver->destroy(graph) == Status::success);
  // What the thread may do in a capture is what it was.
  CaptureMode mode = CaptureMode::thread_local_;
  CHECK(driver->exchange_capture_mode(mode) == Status::success);
  CHECK(mode == CaptureMode::global);
  CHECK(driver->exchange_capture_mode(mode) == Status::success);
  CHECK(driver->synchronize_device() == Status::success);
}

TEST_CASE("owned stream: whatever a step does wrong, none of its work is under way when its memory goes") {
  const auto driver = test::make_test_driver();
  for (const FaultInfo& fault : fault_table())
    for (const StepKind step : {StepKind::grouped, StepKind::xqa, StepKind::mla_prefill, StepKind::mla_decode}) {
      if (!fits(fault, step)) continue;
      INFO(fault.name << " on " << to_string(step));
      WatchingDriver watching(*driver);
      RunOptions options;
      options.step.step = step;
      options.step.context = 70;
      options.step.faults.add(fault.fault);
      (void)run_step(watching, options);
      CHECK(watching.unmapped > 0);
      CHECK(watching.too_early == 0);
    }
}
