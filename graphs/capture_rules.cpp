#include "graphs/capture_rules.hpp"

namespace refrain {
namespace {

const CaptureRule* exact_row(Api api, Target target, bool blocking) {
  for (const CaptureRule& rule : capture_rules())
    if (rule.api == api && rule.target == target && rule.blocking == blocking) return &rule;
  return nullptr;
}

const CaptureRule* row(Api api, Target target, bool blocking) {
  const CaptureRule* rule = exact_row(api, target, blocking);
  return rule == nullptr && blocking ? exact_row(api, target, false) : rule;
}

}  // namespace

const CaptureRule* find_capture_rule(Api api, Target target, bool blocking) {
  const CaptureRule* rule = row(api, target, blocking);
  return rule == nullptr && target != Target::none ? row(api, Target::none, blocking) : rule;
}

const char* to_string(Api api) noexcept {
  switch (api) {
    case Api::begin_capture: return "cudaStreamBeginCapture";
    case Api::end_capture: return "cudaStreamEndCapture";
    case Api::exchange_capture_mode: return "cudaThreadExchangeStreamCaptureMode";
    case Api::stream_is_capturing: return "cudaStreamIsCapturing";
    case Api::stream_get_capture_info: return "cudaStreamGetCaptureInfo";
    case Api::stream_synchronize: return "cudaStreamSynchronize";
    case Api::stream_query: return "cudaStreamQuery";
    case Api::device_synchronize: return "cudaDeviceSynchronize";
    case Api::event_query: return "cudaEventQuery";
    case Api::event_synchronize: return "cudaEventSynchronize";
    case Api::event_elapsed_time: return "cudaEventElapsedTime";
    case Api::event_record: return "cudaEventRecord";
    case Api::event_record_external: return "cudaEventRecordWithFlags (external)";
    case Api::stream_wait_event: return "cudaStreamWaitEvent";
    case Api::stream_wait_event_external: return "cudaStreamWaitEvent (external)";
    case Api::memcpy_h2d: return "cudaMemcpy (host to device)";
    case Api::memcpy_d2h: return "cudaMemcpy (device to host)";
    case Api::memcpy_d2d: return "cudaMemcpy (device to device)";
    case Api::memcpy_to_symbol: return "cudaMemcpyToSymbol";
    case Api::memset: return "cudaMemset";
    case Api::memcpy_async_h2d_pageable: return "cudaMemcpyAsync (pageable host to device)";
    case Api::memcpy_async_d2h_pageable: return "cudaMemcpyAsync (device to pageable host)";
    case Api::memcpy_async_h2d_pinned: return "cudaMemcpyAsync (pinned host to device)";
    case Api::memcpy_async_d2h_pinned: return "cudaMemcpyAsync (device to pinned host)";
    case Api::memcpy_async_d2d: return "cudaMemcpyAsync (device to device)";
    case Api::memcpy_2d_async: return "cudaMemcpy2DAsync";
    case Api::memcpy_to_symbol_async: return "cudaMemcpyToSymbolAsync";
    case Api::memcpy_peer_async: return "cudaMemcpyPeerAsync";
    case Api::memset_async: return "cudaMemsetAsync";
    case Api::mem_prefetch_async: return "cudaMemPrefetchAsync";
    case Api::stream_attach_mem_async: return "cudaStreamAttachMemAsync";
    case Api::stream_add_callback: return "cudaStreamAddCallback";
    case Api::launch_host_func: return "cudaLaunchHostFunc";
    case Api::launch_kernel: return "cudaLaunchKernel";
    case Api::launch_kernel_first_use: return "cudaLaunchKernel (first use)";
    case Api::graph_launch: return "cudaGraphLaunch";
    case Api::graph_upload: return "cudaGraphUpload";
    case Api::graph_instantiate: return "cudaGraphInstantiate";
    case Api::graph_destroy: return "cudaGraphDestroy";
    case Api::graph_exec_destroy: return "cudaGraphExecDestroy";
    case Api::graph_exec_update: return "cudaGraphExecUpdate";
    case Api::malloc: return "cudaMalloc";
    case Api::free: return "cudaFree";
    case Api::malloc_host: return "cudaMallocHost";
    case Api::free_host: return "cudaFreeHost";
    case Api::host_register: return "cudaHostRegister";
    case Api::malloc_managed: return "cudaMallocManaged";
    case Api::malloc_async: return "cudaMallocAsync";
    case Api::free_async: return "cudaFreeAsync";
    case Api::device_set_limit: return "cudaDeviceSetLimit";
    case Api::mem_pool_trim_to: return "cudaMemPoolTrimTo";
    case Api::mem_pool_set_attribute: return "cudaMemPoolSetAttribute";
    case Api::mem_advise: return "cudaMemAdvise";
    case Api::mem_address_reserve: return "cuMemAddressReserve";
    case Api::mem_address_free: return "cuMemAddressFree";
    case Api::mem_map: return "cuMemMap";
    case Api::mem_unmap: return "cuMemUnmap";
    case Api::ctx_reset_persisting_l2_cache: return "cudaCtxResetPersistingL2Cache";
    case Api::stream_create: return "cudaStreamCreate";
    case Api::stream_destroy: return "cudaStreamDestroy";
    case Api::event_create: return "cudaEventCreate";
    case Api::event_destroy: return "cudaEventDestroy";
    case Api::set_device: return "cudaSetDevice";
    case Api::func_set_attribute: return "cudaFuncSetAttribute";
    case Api::func_get_attributes: return "cudaFuncGetAttributes";
    case Api::occupancy: return "cudaOccupancyMaxActiveBlocksPerMultiprocessor";
    case Api::get_symbol_address: return "cudaGetSymbolAddress";
    case Api::mem_get_info: return "cudaMemGetInfo";
    case Api::pointer_get_attributes: return "cudaPointerGetAttributes";
    case Api::device_get_attribute: return "cudaDeviceGetAttribute";
    case Api::get_device_properties: return "cudaGetDeviceProperties";
    case Api::device_graph_mem_trim: return "cudaDeviceGraphMemTrim";
    case Api::module_load: return "cuModuleLoad";
    case Api::module_unload: return "cuModuleUnload";
    case Api::cublas_create: return "cublasCreate";
    case Api::add_child_graph_node: return "cudaGraphAddChildGraphNode";
    case Api::cublas_gemm: return "cublasGemmEx";
    case Api::cublas_gemm_own_workspace: return "cublasGemmEx (after cublasSetWorkspace)";
  }
  return "?";
}

const char* to_string(Target target) noexcept {
  switch (target) {
    case Target::none: return "no stream";
    case Target::capturing: return "the capturing stream";
    case Target::forked: return "a stream forked from the capture";
    case Target::other: return "another stream";
    case Target::legacy: return "the legacy stream";
    case Target::per_thread: return "the per-thread default stream";
    case Target::outside_event: return "an event recorded outside the capture";
    case Target::captured_event: return "an event recorded inside the capture";
    case Target::foreign_event: return "an event of another capture";
    case Target::cuda_malloc_pointer: return "a pointer from cudaMalloc";
    case Target::unjoined: return "the capturing stream with a fork that was not joined";
  }
  return "?";
}

const char* to_string(CaptureMode mode) noexcept {
  switch (mode) {
    case CaptureMode::global: return "global";
    case CaptureMode::thread_local_: return "thread_local";
    case CaptureMode::relaxed: return "relaxed";
  }
  return "?";
}

const char* code_name(int code) noexcept {
  switch (code) {
    case 0: return "cudaSuccess";
    case 1: return "cudaErrorInvalidValue";
    case 2: return "cudaErrorMemoryAllocation";
    case 201: return "cudaErrorDeviceUninitialized";
    case 400: return "cudaErrorInvalidResourceHandle";
    case 401: return "cudaErrorIllegalState";
    case 600: return "cudaErrorNotReady";
    case 700: return "cudaErrorIllegalAddress";
    case 712: return "cudaErrorHostMemoryAlreadyRegistered";
    case 900: return "cudaErrorStreamCaptureUnsupported";
    case 901: return "cudaErrorStreamCaptureInvalidated";
    case 902: return "cudaErrorStreamCaptureMerge";
    case 903: return "cudaErrorStreamCaptureUnmatched";
    case 904: return "cudaErrorStreamCaptureUnjoined";
    case 905: return "cudaErrorStreamCaptureIsolation";
    case 906: return "cudaErrorStreamCaptureImplicit";
    case 907: return "cudaErrorCapturedEvent";
    case 908: return "cudaErrorStreamCaptureWrongThread";
    case 910: return "cudaErrorGraphExecUpdateFailure";
    default: return "cudaError";
  }
}

bool is_sync(Api api) noexcept {
  switch (api) {
    case Api::stream_synchronize:
    case Api::stream_query:
    case Api::device_synchronize:
    case Api::event_query:
    case Api::event_synchronize: return true;
    default: return false;
  }
}

bool is_memory_call(Api api) noexcept {
  switch (api) {
    case Api::malloc:
    case Api::free:
    case Api::malloc_host:
    case Api::free_host:
    case Api::host_register:
    case Api::malloc_managed:
    case Api::malloc_async:
    case Api::free_async:
    case Api::device_set_limit:
    case Api::mem_pool_trim_to:
    case Api::mem_pool_set_attribute:
    case Api::mem_advise: return true;
    default: return false;
  }
}

bool gives_back(Api api) noexcept {
  switch (api) {
    case Api::free:
    case Api::free_host:
    case Api::free_async:
    case Api::mem_address_free:
    case Api::mem_unmap:
    case Api::stream_destroy:
    case Api::event_destroy:
    case Api::graph_destroy:
    case Api::graph_exec_destroy: return true;
    default: return false;
  }
}

bool is_async_copy(Api api) noexcept {
  switch (api) {
    case Api::memcpy_async_h2d_pageable:
    case Api::memcpy_async_d2h_pageable:
    case Api::memcpy_async_h2d_pinned:
    case Api::memcpy_async_d2h_pinned:
    case Api::memcpy_async_d2d:
    case Api::memcpy_2d_async:
    case Api::memcpy_to_symbol_async:
    case Api::memcpy_peer_async:
    case Api::memset_async: return true;
    default: return false;
  }
}

}  // namespace refrain
