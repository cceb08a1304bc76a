// The table itself, one row a call. Columns are global, thread_local, relaxed.
// Each row was measured from the capturing thread; `other_thread_measured` says
// whether from a second one too. Where it was not, the column follows its kind:
// what CUDA calls unsafe hurts other threads only under the global mode, what
// touches the capture itself fails or is captured from anywhere.
#include "graphs/capture_rules.hpp"

namespace refrain {
namespace {

using Column = std::array<Answer, 3>;

constexpr Column in_every_mode(Answer answer) {
  return {answer, answer, answer};
}
constexpr Answer dead(std::int16_t code) {
  return {code, Effect::invalidated, 0};
}
constexpr Column captured(std::uint8_t nodes) {
  return in_every_mode({0, Effect::captured, nodes});
}
constexpr Column refused(std::int16_t code) {
  return in_every_mode({code, Effect::refused, 0});
}
constexpr Column invalidated(std::int16_t code) {
  return in_every_mode(dead(code));
}

constexpr Answer kPass{0, Effect::passed, 0};
constexpr Answer kRun{0, Effect::executed, 0};
constexpr Column kPassed = in_every_mode(kPass);
constexpr Column kExecuted = in_every_mode(kRun);

// Calls that CUDA calls unsafe: they may wait for the device or move memory under a running capture.
constexpr Column kUnsafe{dead(900), dead(900), kPass};
constexpr Column kUnsafeElsewhere{dead(900), kPass, kPass};
constexpr Column kUnsafeWork{dead(900), dead(900), kRun};
constexpr Column kUnsafeWorkElsewhere{dead(900), kRun, kRun};

constexpr Column kEndElsewhere{dead(908), dead(908), kPass};
constexpr Column kCublasCreate{dead(1), dead(1), kPass};
constexpr Column kCublasCreateElsewhere{dead(1), kPass, kPass};

// clang-format off
constexpr std::array<CaptureRule, 101> kRules{{
    // Syncs and queries.
    {.label = "cudaStreamSynchronize(capturing)", .api = Api::stream_synchronize, .target = Target::capturing,
     .blocking = false, .same_thread = invalidated(900), .other_thread = invalidated(900), .other_thread_measured = true},
    {.label = "cudaStreamSynchronize(other)", .api = Api::stream_synchronize, .target = Target::other,
     .blocking = false, .same_thread = kUnsafe, .other_thread = kUnsafeElsewhere, .other_thread_measured = true},
    {.label = "cudaDeviceSynchronize", .api = Api::device_synchronize, .target = Target::none,
     .blocking = false, .same_thread = invalidated(900), .other_thread = invalidated(900), .other_thread_measured = true},
    {.label = "cudaStreamQuery(capturing)", .api = Api::stream_query, .target = Target::capturing,
     .blocking = false, .same_thread = invalidated(900), .other_thread = invalidated(900), .other_thread_measured = true},
    {.label = "cudaStreamQuery(other)", .api = Api::stream_query, .target = Target::other,
     .blocking = false, .same_thread = kUnsafe, .other_thread = kUnsafeElsewhere, .other_thread_measured = true},
    {.label = "cudaEventQuery(pre-recorded)", .api = Api::event_query, .target = Target::outside_event,
     .blocking = false, .same_thread = kUnsafe, .other_thread = kUnsafeElsewhere, .other_thread_measured = true},
    {.label = "cudaEventSynchronize(pre-recorded)", .api = Api::event_synchronize, .target = Target::outside_event,
     .blocking = false, .same_thread = kUnsafe, .other_thread = kUnsafeElsewhere, .other_thread_measured = true},
    {.label = "record ev1 + cudaEventQuery(captured)", .api = Api::event_query, .target = Target::captured_event,
     .blocking = false, .same_thread = invalidated(907), .other_thread = invalidated(907), .other_thread_measured = true},
    {.label = "record ev1 + cudaEventSynchronize(captured)",
     .api = Api::event_synchronize, .target = Target::captured_event,
     .blocking = false, .same_thread = invalidated(907), .other_thread = invalidated(907), .other_thread_measured = true},
    {.label = "cudaEventElapsedTime", .api = Api::event_elapsed_time, .target = Target::outside_event,
     .blocking = false, .same_thread = kPassed, .other_thread = kPassed, .other_thread_measured = true},
    {.label = "cudaEventElapsedTime (captured event)", .api = Api::event_elapsed_time, .target = Target::captured_event,
     .blocking = false, .same_thread = refused(907), .other_thread = refused(907), .other_thread_measured = false},
    // Copies and fills that run at once, on the legacy stream or on another one.
    {.label = "cudaMemcpy H2D (sync)", .api = Api::memcpy_h2d, .target = Target::none,
     .blocking = false, .same_thread = kExecuted, .other_thread = kExecuted, .other_thread_measured = true},
    {.label = "cudaMemcpy D2H (sync)", .api = Api::memcpy_d2h, .target = Target::none,
     .blocking = false, .same_thread = kExecuted, .other_thread = kExecuted, .other_thread_measured = true},
    {.label = "cudaMemcpy D2D (sync)", .api = Api::memcpy_d2d, .target = Target::none,
     .blocking = false, .same_thread = kExecuted, .other_thread = kExecuted, .other_thread_measured = true},
    {.label = "cudaMemcpyToSymbol (sync)", .api = Api::memcpy_to_symbol, .target = Target::none,
     .blocking = false, .same_thread = kExecuted, .other_thread = kExecuted, .other_thread_measured = false},
    {.label = "cudaMemset (legacy)", .api = Api::memset, .target = Target::none,
     .blocking = false, .same_thread = kExecuted, .other_thread = kExecuted, .other_thread_measured = true},
    {.label = "cudaMemcpy H2D (sync), capture stream blocking", .api = Api::memcpy_h2d, .target = Target::none,
     .blocking = true, .same_thread = invalidated(906), .other_thread = invalidated(906), .other_thread_measured = false},
    {.label = "cudaMemcpy D2H (sync), capture stream blocking", .api = Api::memcpy_d2h, .target = Target::none,
     .blocking = true, .same_thread = invalidated(906), .other_thread = invalidated(906), .other_thread_measured = false},
    {.label = "cudaMemcpy D2D (sync), capture stream blocking", .api = Api::memcpy_d2d, .target = Target::none,
     .blocking = true, .same_thread = invalidated(906), .other_thread = invalidated(906), .other_thread_measured = false},
    {.label = "cudaMemcpyToSymbol (sync), capture stream blocking",
     .api = Api::memcpy_to_symbol, .target = Target::none,
     .blocking = true, .same_thread = invalidated(906), .other_thread = invalidated(906), .other_thread_measured = false},
    {.label = "cudaMemset (legacy), capture stream blocking", .api = Api::memset, .target = Target::none,
     .blocking = true, .same_thread = invalidated(906), .other_thread = invalidated(906), .other_thread_measured = false},
    {.label = "cudaMemcpyAsync on other stream", .api = Api::memcpy_async_h2d_pageable, .target = Target::other,
     .blocking = false, .same_thread = kExecuted, .other_thread = kExecuted, .other_thread_measured = true},
    {.label = "cudaMemcpyAsync on other stream", .api = Api::memcpy_async_d2h_pageable, .target = Target::other,
     .blocking = false, .same_thread = kExecuted, .other_thread = kExecuted, .other_thread_measured = true},
    {.label = "cudaMemcpyAsync on other stream", .api = Api::memcpy_async_h2d_pinned, .target = Target::other,
     .blocking = false, .same_thread = kExecuted, .other_thread = kExecuted, .other_thread_measured = true},
    {.label = "cudaMemcpyAsync on other stream", .api = Api::memcpy_async_d2h_pinned, .target = Target::other,
     .blocking = false, .same_thread = kExecuted, .other_thread = kExecuted, .other_thread_measured = true},
    {.label = "cudaMemcpyAsync on other stream", .api = Api::memcpy_async_d2d, .target = Target::other,
     .blocking = false, .same_thread = kExecuted, .other_thread = kExecuted, .other_thread_measured = true},
    // Copies and fills on the captured stream.
    {.label = "cudaMemcpyAsync H2D pageable", .api = Api::memcpy_async_h2d_pageable, .target = Target::capturing,
     .blocking = false, .same_thread = captured(1), .other_thread = captured(1), .other_thread_measured = true},
    {.label = "cudaMemcpyAsync D2H pageable", .api = Api::memcpy_async_d2h_pageable, .target = Target::capturing,
     .blocking = false, .same_thread = captured(1), .other_thread = captured(1), .other_thread_measured = true},
    {.label = "cudaMemcpyAsync H2D pinned", .api = Api::memcpy_async_h2d_pinned, .target = Target::capturing,
     .blocking = false, .same_thread = captured(1), .other_thread = captured(1), .other_thread_measured = true},
    {.label = "cudaMemcpyAsync D2H pinned", .api = Api::memcpy_async_d2h_pinned, .target = Target::capturing,
     .blocking = false, .same_thread = captured(1), .other_thread = captured(1), .other_thread_measured = false},
    {.label = "cudaMemcpyAsync D2D", .api = Api::memcpy_async_d2d, .target = Target::capturing,
     .blocking = false, .same_thread = captured(1), .other_thread = captured(1), .other_thread_measured = false},
    {.label = "cudaMemcpy2DAsync pinned", .api = Api::memcpy_2d_async, .target = Target::capturing,
     .blocking = false, .same_thread = captured(1), .other_thread = captured(1), .other_thread_measured = true},
    {.label = "cudaMemcpyToSymbolAsync", .api = Api::memcpy_to_symbol_async, .target = Target::capturing,
     .blocking = false, .same_thread = captured(1), .other_thread = captured(1), .other_thread_measured = false},
    {.label = "cudaMemsetAsync", .api = Api::memset_async, .target = Target::capturing,
     .blocking = false, .same_thread = captured(1), .other_thread = captured(1), .other_thread_measured = false},
    {.label = "cudaMemcpyPeerAsync(dev0->dev0)", .api = Api::memcpy_peer_async, .target = Target::capturing,
     .blocking = false, .same_thread = invalidated(900), .other_thread = invalidated(900), .other_thread_measured = false},
    {.label = "cudaMemPrefetchAsync", .api = Api::mem_prefetch_async, .target = Target::capturing,
     .blocking = false, .same_thread = invalidated(900), .other_thread = invalidated(900), .other_thread_measured = false},
    {.label = "cudaStreamAttachMemAsync", .api = Api::stream_attach_mem_async, .target = Target::capturing,
     .blocking = false, .same_thread = invalidated(900), .other_thread = invalidated(900), .other_thread_measured = false},
    // Memory. The stream-ordered pair was measured together: three nodes are the kernel, the ALLOC and the FREE.
    {.label = "cudaMalloc", .api = Api::malloc, .target = Target::none,
     .blocking = false, .same_thread = kUnsafe, .other_thread = kUnsafeElsewhere, .other_thread_measured = true},
    {.label = "cudaFree", .api = Api::free, .target = Target::none,
     .blocking = false, .same_thread = kUnsafe, .other_thread = kUnsafeElsewhere, .other_thread_measured = true},
    {.label = "cudaMallocHost", .api = Api::malloc_host, .target = Target::none,
     .blocking = false, .same_thread = kUnsafe, .other_thread = kUnsafeElsewhere, .other_thread_measured = true},
    {.label = "cudaFreeHost", .api = Api::free_host, .target = Target::none,
     .blocking = false, .same_thread = kUnsafe, .other_thread = kUnsafeElsewhere, .other_thread_measured = false},
    // The second thread's 712 here is the probe's own: it registered a range twice.
    {.label = "cudaHostRegister", .api = Api::host_register, .target = Target::none,
     .blocking = false, .same_thread = kUnsafe, .other_thread = kUnsafeElsewhere, .other_thread_measured = true},
    {.label = "cudaMallocManaged", .api = Api::malloc_managed, .target = Target::none,
     .blocking = false, .same_thread = kUnsafe, .other_thread = kUnsafeElsewhere, .other_thread_measured = true},
    {.label = "cudaMallocAsync(capturing)", .api = Api::malloc_async, .target = Target::capturing,
     .blocking = false, .same_thread = captured(1), .other_thread = captured(1), .other_thread_measured = true},
    {.label = "cudaFreeAsync(capturing)", .api = Api::free_async, .target = Target::capturing,
     .blocking = false, .same_thread = captured(1), .other_thread = captured(1), .other_thread_measured = true},
    {.label = "cudaFreeAsync(cap stream) of a cudaMalloc'd pointer",
     .api = Api::free_async, .target = Target::cuda_malloc_pointer,
     .blocking = false, .same_thread = refused(1), .other_thread = refused(1), .other_thread_measured = false},
    {.label = "cudaMallocAsync(other)", .api = Api::malloc_async, .target = Target::other,
     .blocking = false, .same_thread = kUnsafeWork, .other_thread = kUnsafeWorkElsewhere, .other_thread_measured = true},
    {.label = "cudaDeviceSetLimit", .api = Api::device_set_limit, .target = Target::none,
     .blocking = false, .same_thread = kUnsafe, .other_thread = kUnsafeElsewhere, .other_thread_measured = true},
    {.label = "cudaMemPoolTrimTo", .api = Api::mem_pool_trim_to, .target = Target::none,
     .blocking = false, .same_thread = kUnsafe, .other_thread = kUnsafeElsewhere, .other_thread_measured = false},
    {.label = "cudaMemPoolSetAttribute", .api = Api::mem_pool_set_attribute, .target = Target::none,
     .blocking = false, .same_thread = kUnsafe, .other_thread = kUnsafeElsewhere, .other_thread_measured = false},
    {.label = "cudaMemAdvise", .api = Api::mem_advise, .target = Target::none,
     .blocking = false, .same_thread = kUnsafe, .other_thread = kUnsafeElsewhere, .other_thread_measured = false},
    // Virtual memory: reserving, creating, mapping and giving it back leave a capture alone.
    {.label = "cuMemAddressReserve", .api = Api::mem_address_reserve, .target = Target::none,
     .blocking = false, .same_thread = kPassed, .other_thread = kPassed, .other_thread_measured = false},
    {.label = "cuMemAddressFree", .api = Api::mem_address_free, .target = Target::none,
     .blocking = false, .same_thread = kPassed, .other_thread = kPassed, .other_thread_measured = false},
    {.label = "cuMemMap", .api = Api::mem_map, .target = Target::none,
     .blocking = false, .same_thread = kPassed, .other_thread = kPassed, .other_thread_measured = false},
    {.label = "cuMemUnmap", .api = Api::mem_unmap, .target = Target::none,
     .blocking = false, .same_thread = kPassed, .other_thread = kPassed, .other_thread_measured = false},
    // The second thread's 201 here is the probe's own: that thread had no context yet.
    {.label = "cudaCtxResetPersistingL2Cache", .api = Api::ctx_reset_persisting_l2_cache, .target = Target::none,
     .blocking = false, .same_thread = kPassed, .other_thread = kPassed, .other_thread_measured = true},
    // Launches.
    {.label = "launch on capturing stream (device printf, device malloc, PDL attribute)",
     .api = Api::launch_kernel, .target = Target::capturing,
     .blocking = false, .same_thread = captured(1), .other_thread = captured(1), .other_thread_measured = false},
    {.label = "launch on legacy stream", .api = Api::launch_kernel, .target = Target::legacy,
     .blocking = false, .same_thread = kExecuted, .other_thread = kExecuted, .other_thread_measured = true},
    {.label = "launch on legacy stream, capture stream blocking", .api = Api::launch_kernel, .target = Target::legacy,
     .blocking = true, .same_thread = invalidated(906), .other_thread = invalidated(906), .other_thread_measured = false},
    {.label = "launch on other stream", .api = Api::launch_kernel, .target = Target::other,
     .blocking = false, .same_thread = kExecuted, .other_thread = kExecuted, .other_thread_measured = true},
    {.label = "launch on per-thread default stream, capture stream blocking",
     .api = Api::launch_kernel, .target = Target::per_thread,
     .blocking = true, .same_thread = kExecuted, .other_thread = kExecuted, .other_thread_measured = false},
    {.label = "launch first-use kernel (lazy load)", .api = Api::launch_kernel_first_use, .target = Target::capturing,
     .blocking = false, .same_thread = captured(1), .other_thread = captured(1), .other_thread_measured = true},
    {.label = "cudaLaunchHostFunc", .api = Api::launch_host_func, .target = Target::capturing,
     .blocking = false, .same_thread = captured(1), .other_thread = captured(1), .other_thread_measured = true},
    {.label = "cudaStreamAddCallback", .api = Api::stream_add_callback, .target = Target::capturing,
     .blocking = false, .same_thread = invalidated(900), .other_thread = invalidated(900), .other_thread_measured = false},
    {.label = "cudaStreamSynchronize(legacy), capture stream blocking",
     .api = Api::stream_synchronize, .target = Target::legacy,
     .blocking = true, .same_thread = invalidated(906), .other_thread = invalidated(906), .other_thread_measured = false},
    // Graphs.
    {.label = "cudaGraphLaunch into the capturing stream", .api = Api::graph_launch, .target = Target::capturing,
     .blocking = false, .same_thread = invalidated(900), .other_thread = invalidated(900), .other_thread_measured = false},
    {.label = "cudaGraphAddChildGraphNode + UpdateCaptureDependencies",
     .api = Api::add_child_graph_node, .target = Target::capturing,
     .blocking = false, .same_thread = captured(1), .other_thread = captured(1), .other_thread_measured = false},
    {.label = "cudaGraphLaunch on another stream", .api = Api::graph_launch, .target = Target::other,
     .blocking = false, .same_thread = kExecuted, .other_thread = kExecuted, .other_thread_measured = false},
    {.label = "cudaGraphUpload on another stream", .api = Api::graph_upload, .target = Target::other,
     .blocking = false, .same_thread = kExecuted, .other_thread = kExecuted, .other_thread_measured = false},
    {.label = "cudaGraphInstantiate other graph", .api = Api::graph_instantiate, .target = Target::none,
     .blocking = false, .same_thread = kUnsafe, .other_thread = kUnsafeElsewhere, .other_thread_measured = true},
    // Confounded in the measurement: an instantiate ran just before it.
    {.label = "cudaGraphExecDestroy", .api = Api::graph_exec_destroy, .target = Target::none,
     .blocking = false, .same_thread = kUnsafe, .other_thread = kUnsafeElsewhere, .other_thread_measured = false},
    // The capture itself: begin, fork, join, end. Record and wait are how every measured fork was made.
    {.label = "BeginCapture twice", .api = Api::begin_capture, .target = Target::capturing,
     .blocking = false, .same_thread = refused(401), .other_thread = refused(401), .other_thread_measured = true},
    {.label = "BeginCapture on legacy", .api = Api::begin_capture, .target = Target::legacy,
     .blocking = false, .same_thread = refused(900), .other_thread = refused(900), .other_thread_measured = false},
    {.label = "Exchange(Relaxed) then cudaMalloc", .api = Api::exchange_capture_mode, .target = Target::none,
     .blocking = false, .same_thread = kPassed, .other_thread = kPassed, .other_thread_measured = false},
    {.label = "cudaEventRecord(capturing)", .api = Api::event_record, .target = Target::capturing,
     .blocking = false, .same_thread = kPassed, .other_thread = kPassed, .other_thread_measured = false},
    {.label = "cudaStreamWaitEvent(captured event)", .api = Api::stream_wait_event, .target = Target::captured_event,
     .blocking = false, .same_thread = kPassed, .other_thread = kPassed, .other_thread_measured = false},
    {.label = "wait on uncaptured event", .api = Api::stream_wait_event, .target = Target::outside_event,
     .blocking = false, .same_thread = invalidated(905), .other_thread = invalidated(905), .other_thread_measured = true},
    {.label = "wait on another capture's event", .api = Api::stream_wait_event, .target = Target::foreign_event,
     .blocking = false, .same_thread = invalidated(902), .other_thread = invalidated(902), .other_thread_measured = false},
    {.label = "cudaStreamWaitEvent with cudaEventWaitExternal",
     .api = Api::stream_wait_event_external, .target = Target::outside_event,
     .blocking = false, .same_thread = captured(1), .other_thread = captured(1), .other_thread_measured = false},
    {.label = "cudaEventRecordWithFlags External", .api = Api::event_record_external, .target = Target::capturing,
     .blocking = false, .same_thread = captured(1), .other_thread = captured(1), .other_thread_measured = false},
    {.label = "cudaStreamIsCapturing(legacy), capture stream blocking",
     .api = Api::stream_is_capturing, .target = Target::legacy,
     .blocking = true, .same_thread = refused(906), .other_thread = refused(906), .other_thread_measured = false},
    {.label = "fork not joined", .api = Api::end_capture, .target = Target::unjoined,
     .blocking = false, .same_thread = invalidated(904), .other_thread = invalidated(904), .other_thread_measured = true},
    {.label = "EndCapture on a forked stream", .api = Api::end_capture, .target = Target::forked,
     .blocking = false, .same_thread = invalidated(903), .other_thread = invalidated(903), .other_thread_measured = false},
    {.label = "EndCapture from another thread", .api = Api::end_capture, .target = Target::capturing,
     .blocking = false, .same_thread = kPassed, .other_thread = kEndElsewhere, .other_thread_measured = true},
    // Calls that do no device work.
    {.label = "cudaStreamCreate", .api = Api::stream_create, .target = Target::none,
     .blocking = false, .same_thread = kPassed, .other_thread = kPassed, .other_thread_measured = true},
    {.label = "cudaStreamDestroy(other idle)", .api = Api::stream_destroy, .target = Target::other,
     .blocking = false, .same_thread = kPassed, .other_thread = kPassed, .other_thread_measured = true},
    {.label = "cudaEventCreate", .api = Api::event_create, .target = Target::none,
     .blocking = false, .same_thread = kPassed, .other_thread = kPassed, .other_thread_measured = true},
    {.label = "cudaEventDestroy", .api = Api::event_destroy, .target = Target::none,
     .blocking = false, .same_thread = kPassed, .other_thread = kPassed, .other_thread_measured = false},
    {.label = "cudaSetDevice", .api = Api::set_device, .target = Target::none,
     .blocking = false, .same_thread = kPassed, .other_thread = kPassed, .other_thread_measured = false},
    {.label = "cudaFuncSetAttribute", .api = Api::func_set_attribute, .target = Target::none,
     .blocking = false, .same_thread = kPassed, .other_thread = kPassed, .other_thread_measured = true},
    {.label = "cudaFuncGetAttributes(first use)", .api = Api::func_get_attributes, .target = Target::none,
     .blocking = false, .same_thread = kPassed, .other_thread = kPassed, .other_thread_measured = true},
    {.label = "occupancy query", .api = Api::occupancy, .target = Target::none,
     .blocking = false, .same_thread = kPassed, .other_thread = kPassed, .other_thread_measured = false},
    {.label = "cudaGetSymbolAddress", .api = Api::get_symbol_address, .target = Target::none,
     .blocking = false, .same_thread = kPassed, .other_thread = kPassed, .other_thread_measured = false},
    {.label = "cudaMemGetInfo", .api = Api::mem_get_info, .target = Target::none,
     .blocking = false, .same_thread = kPassed, .other_thread = kPassed, .other_thread_measured = true},
    {.label = "cudaPointerGetAttributes", .api = Api::pointer_get_attributes, .target = Target::none,
     .blocking = false, .same_thread = kPassed, .other_thread = kPassed, .other_thread_measured = true},
    {.label = "cudaDeviceGetAttribute", .api = Api::device_get_attribute, .target = Target::none,
     .blocking = false, .same_thread = kPassed, .other_thread = kPassed, .other_thread_measured = true},
    {.label = "cudaGetDeviceProperties", .api = Api::get_device_properties, .target = Target::none,
     .blocking = false, .same_thread = kPassed, .other_thread = kPassed, .other_thread_measured = true},
    {.label = "cudaDeviceGraphMemTrim", .api = Api::device_graph_mem_trim, .target = Target::none,
     .blocking = false, .same_thread = kPassed, .other_thread = kPassed, .other_thread_measured = false},
    // cuBLAS. Create returns its own status 1; a split-K GEMM without a workspace captures ALLOC, two kernels, FREE.
    {.label = "cublasCreate", .api = Api::cublas_create, .target = Target::none,
     .blocking = false, .same_thread = kCublasCreate, .other_thread = kCublasCreateElsewhere, .other_thread_measured = true},
    {.label = "cublasGemmEx bf16 split-K, no user workspace", .api = Api::cublas_gemm, .target = Target::capturing,
     .blocking = false, .same_thread = captured(4), .other_thread = captured(4), .other_thread_measured = false},
    {.label = "cublasGemmEx bf16 split-K, with cublasSetWorkspace",
     .api = Api::cublas_gemm_own_workspace, .target = Target::capturing,
     .blocking = false, .same_thread = captured(2), .other_thread = captured(2), .other_thread_measured = false},
}};
// clang-format on

}  // namespace

std::span<const CaptureRule> capture_rules() {
  return kRules;
}

}  // namespace refrain
