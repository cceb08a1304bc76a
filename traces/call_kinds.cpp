#include "traces/call_kinds.hpp"

namespace refrain {

bool is_launch(Api api) noexcept {
  return api == Api::launch_kernel || api == Api::launch_kernel_first_use || api == Api::launch_host_func;
}

bool is_blocking_copy(Api api) noexcept {
  switch (api) {
    case Api::memcpy_h2d:
    case Api::memcpy_d2h:
    case Api::memcpy_d2d:
    case Api::memcpy_to_symbol:
    case Api::memset: return true;
    default: return false;
  }
}

bool is_query(Api api) noexcept {
  return api == Api::stream_query || api == Api::event_query;
}

bool submits_work(Api api) noexcept {
  if (is_launch(api) || is_async_copy(api) || is_blocking_copy(api)) return true;
  switch (api) {
    case Api::graph_launch:
    case Api::mem_prefetch_async:
    case Api::stream_add_callback:
    case Api::cublas_gemm:
    case Api::cublas_gemm_own_workspace: return true;
    default: return false;
  }
}

bool ran_at_once(const ApiEvent& call) noexcept {
  if (call.code != 0) return false;
  if (call.capture == 0) return true;
  switch (call.target) {
    case Target::capturing:
    case Target::forked:
    case Target::captured_event:
    case Target::foreign_event:
    case Target::unjoined: return false;
    // Nothing says whether the call's stream was the one being captured; a blocking copy has no stream.
    case Target::none: return is_blocking_copy(call.api);
    default: return true;
  }
}

}  // namespace refrain
