// Reservations, and physical memory mapped behind them. The handle of the memory is
// given back as soon as it is mapped: its mappings keep it until the last cuMemUnmap.
#include "runtime/cuda/virtual_memory.hpp"

#include "graphs/cuda/driver_calls.hpp"
#include "runtime/cuda/cuda_driver.hpp"
#include "runtime/cuda/cuda_status.hpp"

namespace refrain {
namespace {

constexpr CUmemLocation kDeviceMemory = {CU_MEM_LOCATION_TYPE_DEVICE, {0}};

/// The driver's and the runtime's codes are the same numbers where both have one.
cudaError_t code_of(CUresult code) {
  return static_cast<cudaError_t>(code);
}

cudaError_t reserve_addresses(const VirtualMemoryCalls& calls, Call& call) {
  CUdeviceptr base = 0;
  const CUresult code = calls.address_reserve(&base, call.bytes, Driver::kMapGranularity, 0, 0);
  call.address = base;
  return code_of(code);
}

/// Fresh memory, or that of the mapping at call.source once more. The caller releases the handle.
CUresult find_memory(const VirtualMemoryCalls& calls, const Call& call, CUmemGenericAllocationHandle& memory) {
  if (call.source != 0) return calls.retain(&memory, reinterpret_cast<void*>(call.source));
  CUmemAllocationProp what{};
  what.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  what.location = kDeviceMemory;
  return calls.create(&memory, call.bytes, &what, 0);
}

cudaError_t map_memory(const VirtualMemoryCalls& calls, const Call& call) {
  CUmemGenericAllocationHandle memory = 0;
  if (const CUresult code = find_memory(calls, call, memory); code != CUDA_SUCCESS) return code_of(code);
  CUresult code = calls.map(call.address, call.bytes, 0, memory, 0);
  (void)calls.release(memory);
  if (code != CUDA_SUCCESS) return code_of(code);
  const CUmemAccessDesc access = {kDeviceMemory, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  code = calls.set_access(call.address, call.bytes, &access, 1);
  if (code != CUDA_SUCCESS) (void)calls.unmap(call.address, call.bytes);
  return code_of(code);
}

}  // namespace

VirtualMemoryCalls VirtualMemoryCalls::load() {
  VirtualMemoryCalls calls;
  take_driver_call(calls.address_reserve, "cuMemAddressReserve", 10020);
  take_driver_call(calls.address_free, "cuMemAddressFree", 10020);
  take_driver_call(calls.create, "cuMemCreate", 10020);
  take_driver_call(calls.release, "cuMemRelease", 10020);
  take_driver_call(calls.retain, "cuMemRetainAllocationHandle", 11000);
  take_driver_call(calls.map, "cuMemMap", 10020);
  take_driver_call(calls.set_access, "cuMemSetAccess", 10020);
  take_driver_call(calls.unmap, "cuMemUnmap", 10020);
  return calls;
}

CudaDriver::Answer CudaDriver::virtual_memory(Call& call) {
  const VirtualMemoryCalls& calls = virtual_memory_calls_;
  switch (call.api) {
    case Api::mem_address_reserve: return reserve_addresses(calls, call);
    case Api::mem_address_free: return code_of(calls.address_free(call.address, call.bytes));
    case Api::mem_map: return map_memory(calls, call);
    case Api::mem_unmap: return code_of(calls.unmap(call.address, call.bytes));
    default: return std::nullopt;
  }
}

}  // namespace refrain
