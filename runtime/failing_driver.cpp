#include "runtime/failing_driver.hpp"

namespace refrain {
Status FailingDriver::submit(Call& call) {
  if (++calls_ != fail_at_) return inner_.submit(call);
  if (!gives_back(call.api) && call.api != Api::end_capture) return status_;
  const Status done = inner_.submit(call);
  if (call.api == Api::end_capture && done == Status::success) (void)inner_.destroy(call.graph);
  return status_;
}

Status FailingDriver::introspect(GraphHandle graph, Introspection& out) {
  return ++calls_ == fail_at_ ? status_ : inner_.introspect(graph, out);
}

}  // namespace refrain
