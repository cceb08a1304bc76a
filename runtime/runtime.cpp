#include "runtime/runtime.hpp"

#include "audit/audit.hpp"
#include "runtime/transfer.hpp"

namespace refrain {

Runtime::Runtime(Driver& inner, std::uint64_t arena_bytes, Overlays overlays)
    : driver(inner, clock),
      arena(driver, registry, arena_bytes, overlays),
      stream(driver),
      recorder(driver, registry, stream) {}

Captured Runtime::capture(std::string name, const std::function<void(Recorder&)>& record, CaptureInfo info,
                          CaptureMode mode) {
  CaptureScope scope(recorder, mode);
  record(recorder);
  Captured captured = scope.finish(std::move(name), std::move(info));
  driver.add_graph(captured.handle(), captured.graph);
  return captured;
}

GraphExec Runtime::instantiate(const Captured& captured) {
  return {driver, arena, captured, stream};
}

void Runtime::replay(GraphExec& exec) {
  settle_writes(driver);
  exec.launch(stream);
  check(driver.synchronize(stream), "cudaStreamSynchronize");
}

Report Runtime::audit(std::string name) const {
  const Subject subject{{recording(std::move(name))}};
  return refrain::audit(subject);
}

}  // namespace refrain
