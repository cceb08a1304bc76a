// What CUDA does to a call that is made while a stream is being captured: one
// table, measured on an H200 with CUDA 13.0. The HostDriver obeys it and the
// audit's rules reason with it. It says nothing about calls outside a capture.
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace refrain {

/// The calls that the table knows, by what they do; names follow the CUDA runtime.
enum class Api : std::uint8_t {
  begin_capture,
  end_capture,
  exchange_capture_mode,
  stream_is_capturing,
  stream_get_capture_info,
  stream_synchronize,
  stream_query,
  device_synchronize,
  event_query,
  event_synchronize,
  event_elapsed_time,
  event_record,
  event_record_external,
  stream_wait_event,
  stream_wait_event_external,
  memcpy_h2d,
  memcpy_d2h,
  memcpy_d2d,
  memcpy_to_symbol,
  memset,
  memcpy_async_h2d_pageable,
  memcpy_async_d2h_pageable,
  memcpy_async_h2d_pinned,
  memcpy_async_d2h_pinned,
  memcpy_async_d2d,
  memcpy_2d_async,
  memcpy_to_symbol_async,
  memcpy_peer_async,
  memset_async,
  mem_prefetch_async,
  stream_attach_mem_async,
  stream_add_callback,
  launch_host_func,
  launch_kernel,
  launch_kernel_first_use,
  graph_launch,
  graph_upload,
  graph_instantiate,
  graph_destroy,
  graph_exec_destroy,
  graph_exec_update,
  malloc,
  free,
  malloc_host,
  free_host,
  host_register,
  malloc_managed,
  malloc_async,
  free_async,
  device_set_limit,
  mem_pool_trim_to,
  mem_pool_set_attribute,
  mem_advise,
  mem_address_reserve,
  mem_address_free,
  mem_map,
  mem_unmap,
  ctx_reset_persisting_l2_cache,
  stream_create,
  stream_destroy,
  event_create,
  event_destroy,
  set_device,
  func_set_attribute,
  func_get_attributes,
  occupancy,
  get_symbol_address,
  mem_get_info,
  pointer_get_attributes,
  device_get_attribute,
  get_device_properties,
  device_graph_mem_trim,
  module_load,
  module_unload,
  cublas_create,
  add_child_graph_node,
  cublas_gemm,
  cublas_gemm_own_workspace,
};

/// What the call is aimed at. `capturing`: the stream (or an event, a pointer) of the capture itself.
/// `other`: another stream that is not being captured. `outside_event`: recorded outside any capture.
/// `captured_event`: last recorded inside this capture. `foreign_event`: inside another capture.
/// `unjoined`: the capture's own stream while a forked one has not been joined to it.
enum class Target : std::uint8_t {
  none,
  capturing,
  forked,
  other,
  legacy,
  per_thread,
  outside_event,
  captured_event,
  foreign_event,
  cuda_malloc_pointer,
  unjoined,
};

enum class CaptureMode : std::uint8_t { global, thread_local_, relaxed };

/// What became of the call. `passed`: it worked and did no device work. `executed`: it ran at once, outside
/// the graph, in silence. `captured`: it became `nodes` nodes. `refused`: an error, and the capture lives on.
/// `invalidated`: an error, and the capture is dead: end_capture gives 901. Where the call is
/// end_capture itself, `code` is what it gives.
enum class Effect : std::uint8_t { passed, executed, captured, refused, invalidated };

struct Answer {
  std::int16_t code = 0;  ///< the call's return code (a CUDA runtime error number)
  Effect effect = Effect::passed;
  std::uint8_t nodes = 0;
};

/// One row: the answers by capture mode, from the capturing thread and from another one.
struct CaptureRule {
  const char* label;  ///< as the measurement names the row
  Api api;
  Target target;
  bool blocking;                      ///< the capture stream is a blocking one (synchronises with the legacy stream)
  std::array<Answer, 3> same_thread;  ///< global, thread_local, relaxed
  std::array<Answer, 3> other_thread;
  bool other_thread_measured;  ///< else `other_thread` follows from calls of the same kind
};

[[nodiscard]] std::span<const CaptureRule> capture_rules();

/// The row for a call, or null when the table has none. A blocking capture without a row of its own
/// is answered by the row for a non-blocking one; a call whose row has no target, by that row whatever
/// the target.
[[nodiscard]] const CaptureRule* find_capture_rule(Api api, Target target, bool blocking);

[[nodiscard]] const char* to_string(Api) noexcept;     ///< `cudaStreamSynchronize`
[[nodiscard]] const char* to_string(Target) noexcept;  ///< `the capturing stream`
[[nodiscard]] const char* to_string(CaptureMode) noexcept;

/// CUDA's name for a return code that the table or a driver gives, e.g. `cudaErrorStreamCaptureUnsupported`; else
/// `cudaError`.
[[nodiscard]] const char* code_name(int code) noexcept;

/// Host-blocking calls: synchronize and query, on stream, device or event.
[[nodiscard]] bool is_sync(Api api) noexcept;

/// Allocations and frees, and changes of pools and limits: cudaMalloc, cudaFree, cudaHostRegister, cudaDeviceSetLimit
/// ...
[[nodiscard]] bool is_memory_call(Api api) noexcept;

/// Gives memory back or destroys a stream, an event, a graph or a graph exec.
[[nodiscard]] bool gives_back(Api api) noexcept;

/// Copies and fills of a stream: cudaMemcpyAsync and its kin, cudaMemsetAsync.
[[nodiscard]] bool is_async_copy(Api api) noexcept;

}  // namespace refrain
