#include "runtime/failing_driver.hpp"

namespace refrain {
namespace {

bool gives_back(Api api) {
  switch (api) {
    case Api::free:
    case Api::free_host:
    case Api::free_async:
    case Api::stream_destroy:
    case Api::event_destroy:
    case Api::graph_destroy:
    case Api::graph_exec_destroy:
    case Api::end_capture: return true;
    default: return false;
  }
}

}  // namespace

Status FailingDriver::submit(Call& call) {
  if (++calls_ != fail_at_) return inner_.submit(call);
  if (!gives_back(call.api)) return status_;
  const Status done = inner_.submit(call);
  if (call.api == Api::end_capture && done == Status::success) (void)inner_.destroy(call.graph);
  return status_;
}

Status FailingDriver::introspect(GraphHandle graph, Introspection& out) {
  return ++calls_ == fail_at_ ? status_ : inner_.introspect(graph, out);
}

}  // namespace refrain
