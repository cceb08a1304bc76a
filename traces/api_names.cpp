#include "traces/api_names.hpp"

#include <algorithm>
#include <array>

namespace refrain {
namespace {

constexpr ApiForm kCopy = ApiForm::copy;
constexpr ApiForm kCopyWaits = ApiForm::copy_waits;

// Sorted by name. Without a device record a copy is taken for one inside the device, of which no rule says anything.
constexpr std::array kNames = {
    ApiName{"CtxResetPersistingL2Cache", Api::ctx_reset_persisting_l2_cache},
    ApiName{"CtxSetLimit", Api::device_set_limit},
    ApiName{"CtxSynchronize", Api::device_synchronize},
    ApiName{"DeviceGetAttribute", Api::device_get_attribute},
    ApiName{"DeviceGraphMemTrim", Api::device_graph_mem_trim},
    ApiName{"DeviceSetLimit", Api::device_set_limit},
    ApiName{"DeviceSynchronize", Api::device_synchronize},
    ApiName{"EventCreate", Api::event_create},
    ApiName{"EventCreateWithFlags", Api::event_create},
    ApiName{"EventDestroy", Api::event_destroy},
    ApiName{"EventElapsedTime", Api::event_elapsed_time},
    ApiName{"EventQuery", Api::event_query},
    ApiName{"EventRecord", Api::event_record},
    ApiName{"EventRecordWithFlags", Api::event_record},
    ApiName{"EventSynchronize", Api::event_synchronize},
    ApiName{"ExtLaunchKernel", Api::launch_kernel},
    ApiName{"ExtModuleLaunchKernel", Api::launch_kernel},
    ApiName{"Free", Api::free},
    ApiName{"FreeArray", Api::free},
    ApiName{"FreeAsync", Api::free_async},
    ApiName{"FreeHost", Api::free_host},
    ApiName{"FuncGetAttributes", Api::func_get_attributes},
    ApiName{"FuncSetAttribute", Api::func_set_attribute},
    ApiName{"GetDeviceProperties", Api::get_device_properties},
    ApiName{"GetSymbolAddress", Api::get_symbol_address},
    ApiName{"GraphAddChildGraphNode", Api::add_child_graph_node},
    ApiName{"GraphDestroy", Api::graph_destroy},
    ApiName{"GraphExecDestroy", Api::graph_exec_destroy},
    ApiName{"GraphExecUpdate", Api::graph_exec_update},
    ApiName{"GraphInstantiate", Api::graph_instantiate},
    ApiName{"GraphInstantiateWithFlags", Api::graph_instantiate},
    ApiName{"GraphInstantiateWithParams", Api::graph_instantiate},
    ApiName{"GraphLaunch", Api::graph_launch},
    ApiName{"GraphUpload", Api::graph_upload},
    ApiName{"HostAlloc", Api::malloc_host},
    ApiName{"HostFree", Api::free_host},
    ApiName{"HostMalloc", Api::malloc_host},
    ApiName{"HostRegister", Api::host_register},
    ApiName{"LaunchCooperativeKernel", Api::launch_kernel},
    ApiName{"LaunchHostFunc", Api::launch_host_func},
    ApiName{"LaunchKernel", Api::launch_kernel},
    ApiName{"LaunchKernelEx", Api::launch_kernel},
    ApiName{"LaunchKernelExC", Api::launch_kernel},
    ApiName{"LibraryLoadData", Api::module_load},
    ApiName{"LibraryLoadFromFile", Api::module_load},
    ApiName{"LibraryUnload", Api::module_unload},
    ApiName{"Malloc", Api::malloc},
    ApiName{"Malloc3D", Api::malloc},
    ApiName{"MallocArray", Api::malloc},
    ApiName{"MallocAsync", Api::malloc_async},
    ApiName{"MallocFromPoolAsync", Api::malloc_async},
    ApiName{"MallocHost", Api::malloc_host},
    ApiName{"MallocManaged", Api::malloc_managed},
    ApiName{"MallocPitch", Api::malloc},
    ApiName{"MemAddressFree", Api::mem_address_free},
    ApiName{"MemAddressReserve", Api::mem_address_reserve},
    ApiName{"MemAdvise", Api::mem_advise},
    ApiName{"MemAlloc", Api::malloc},
    ApiName{"MemAllocAsync", Api::malloc_async},
    ApiName{"MemAllocFromPoolAsync", Api::malloc_async},
    ApiName{"MemAllocHost", Api::malloc_host},
    ApiName{"MemAllocManaged", Api::malloc_managed},
    ApiName{"MemAllocPitch", Api::malloc},
    ApiName{"MemFree", Api::free},
    ApiName{"MemFreeAsync", Api::free_async},
    ApiName{"MemFreeHost", Api::free_host},
    ApiName{"MemGetInfo", Api::mem_get_info},
    ApiName{"MemHostAlloc", Api::malloc_host},
    ApiName{"MemHostRegister", Api::host_register},
    ApiName{"MemMap", Api::mem_map},
    ApiName{"MemPoolSetAttribute", Api::mem_pool_set_attribute},
    ApiName{"MemPoolTrimTo", Api::mem_pool_trim_to},
    ApiName{"MemPrefetchAsync", Api::mem_prefetch_async},
    ApiName{"MemUnmap", Api::mem_unmap},
    ApiName{"Memcpy", Api::memcpy_d2d, kCopyWaits},
    ApiName{"Memcpy2D", Api::memcpy_d2d, kCopyWaits},
    ApiName{"Memcpy2DAsync", Api::memcpy_2d_async, kCopy},
    ApiName{"Memcpy3D", Api::memcpy_d2d, kCopyWaits},
    ApiName{"Memcpy3DAsync", Api::memcpy_async_d2d, kCopy},
    ApiName{"MemcpyAsync", Api::memcpy_async_d2d, kCopy},
    ApiName{"MemcpyBatchAsync", Api::memcpy_async_d2d, kCopy},
    ApiName{"MemcpyDtoD", Api::memcpy_d2d},
    ApiName{"MemcpyDtoDAsync", Api::memcpy_async_d2d},
    ApiName{"MemcpyDtoH", Api::memcpy_d2h},
    ApiName{"MemcpyDtoHAsync", Api::memcpy_async_d2h_pinned, kCopy},
    ApiName{"MemcpyFromSymbol", Api::memcpy_d2h},
    ApiName{"MemcpyFromSymbolAsync", Api::memcpy_async_d2h_pinned, kCopy},
    ApiName{"MemcpyHtoD", Api::memcpy_h2d},
    ApiName{"MemcpyHtoDAsync", Api::memcpy_async_h2d_pinned, kCopy},
    ApiName{"MemcpyPeer", Api::memcpy_d2d},
    ApiName{"MemcpyPeerAsync", Api::memcpy_peer_async},
    ApiName{"MemcpyToSymbol", Api::memcpy_to_symbol},
    ApiName{"MemcpyToSymbolAsync", Api::memcpy_to_symbol_async},
    ApiName{"MemcpyWithStream", Api::memcpy_d2d, kCopyWaits},
    ApiName{"Memset", Api::memset},
    ApiName{"Memset2D", Api::memset},
    ApiName{"Memset2DAsync", Api::memset_async},
    ApiName{"MemsetAsync", Api::memset_async},
    ApiName{"MemsetD16", Api::memset},
    ApiName{"MemsetD16Async", Api::memset_async},
    ApiName{"MemsetD32", Api::memset},
    ApiName{"MemsetD32Async", Api::memset_async},
    ApiName{"MemsetD8", Api::memset},
    ApiName{"MemsetD8Async", Api::memset_async},
    ApiName{"ModuleLaunchKernel", Api::launch_kernel},
    ApiName{"ModuleLoad", Api::module_load},
    ApiName{"ModuleLoadData", Api::module_load},
    ApiName{"ModuleLoadDataEx", Api::module_load},
    ApiName{"ModuleLoadFatBinary", Api::module_load},
    ApiName{"ModuleUnload", Api::module_unload},
    ApiName{"OccupancyMaxActiveBlocksPerMultiprocessor", Api::occupancy},
    ApiName{"OccupancyMaxActiveBlocksPerMultiprocessorWithFlags", Api::occupancy},
    ApiName{"PointerGetAttribute", Api::pointer_get_attributes},
    ApiName{"PointerGetAttributes", Api::pointer_get_attributes},
    ApiName{"SetDevice", Api::set_device},
    ApiName{"StreamAddCallback", Api::stream_add_callback},
    ApiName{"StreamAttachMemAsync", Api::stream_attach_mem_async},
    ApiName{"StreamBeginCapture", Api::begin_capture},
    ApiName{"StreamBeginCaptureToGraph", Api::begin_capture},
    ApiName{"StreamCreate", Api::stream_create},
    ApiName{"StreamCreateWithFlags", Api::stream_create},
    ApiName{"StreamCreateWithPriority", Api::stream_create},
    ApiName{"StreamDestroy", Api::stream_destroy},
    ApiName{"StreamEndCapture", Api::end_capture},
    ApiName{"StreamGetCaptureInfo", Api::stream_get_capture_info},
    ApiName{"StreamIsCapturing", Api::stream_is_capturing},
    ApiName{"StreamQuery", Api::stream_query},
    ApiName{"StreamSynchronize", Api::stream_synchronize},
    ApiName{"StreamWaitEvent", Api::stream_wait_event},
    ApiName{"ThreadExchangeStreamCaptureMode", Api::exchange_capture_mode},
    ApiName{"ThreadSynchronize", Api::device_synchronize},
};
static_assert(std::is_sorted(kNames.begin(), kNames.end(),
                             [](const ApiName& a, const ApiName& b) { return a.name < b.name; }));

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// Takes `_ptsz`, `_ptds` and `_v10000` off the end, as often as they stand there.
std::string_view without_suffixes(std::string_view name) {
  for (;;) {
    const std::size_t bar = name.rfind('_');
    if (bar == std::string_view::npos) return name;
    const std::string_view last = name.substr(bar + 1);
    const bool version = last.size() > 1 && last[0] == 'v' && std::all_of(last.begin() + 1, last.end(), is_digit);
    if (!version && last != "ptsz" && last != "ptds") return name;
    name = name.substr(0, bar);
  }
}

}  // namespace

bool is_driver_name(std::string_view traced) noexcept {
  return traced.starts_with("cu") && !traced.starts_with("cuda");
}

std::optional<ApiName> find_api(std::string_view traced) {
  std::string_view name = without_suffixes(traced);
  for (const std::string_view prefix : {"cuda", "hip", "cu"})
    if (name.starts_with(prefix)) {
      name.remove_prefix(prefix.size());
      const auto at = std::lower_bound(kNames.begin(), kNames.end(), name,
                                       [](const ApiName& row, std::string_view wanted) { return row.name < wanted; });
      if (at != kNames.end() && at->name == name) return *at;
      return std::nullopt;
    }
  return std::nullopt;
}

}  // namespace refrain
