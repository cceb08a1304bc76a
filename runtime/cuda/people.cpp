// Questions that people's code asks of the runtime: the driver has no use for
// the answers, only for what asking does to a capture. Free memory is answered.
#include "runtime/cuda/cuda_driver.hpp"
#include "runtime/cuda/probe.hpp"

namespace refrain {
namespace {

cudaError_t ask_function() {
  cudaFuncAttributes attributes{};
  return cudaFuncGetAttributes(&attributes, probe_kernel());
}

cudaError_t set_function() {
  return cudaFuncSetAttribute(probe_kernel(), cudaFuncAttributeMaxDynamicSharedMemorySize, 1024);
}

cudaError_t ask_occupancy() {
  int blocks = 0;
  return cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, probe_kernel(), 32, 0);
}

cudaError_t ask_symbol() {
  void* address = nullptr;
  return cudaGetSymbolAddress(&address, probe_symbol());
}

cudaError_t ask_memory(Call& call) {
  std::size_t free_bytes = 0, all_bytes = 0;
  const cudaError_t code = cudaMemGetInfo(&free_bytes, &all_bytes);
  call.bytes = free_bytes;
  return code;
}

cudaError_t ask_pointer(const void* pointer) {
  cudaPointerAttributes attributes{};
  return cudaPointerGetAttributes(&attributes, pointer);
}

cudaError_t ask_attribute() {
  int multiprocessors = 0;
  return cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, 0);
}

cudaError_t ask_properties() {
  cudaDeviceProp properties{};
  return cudaGetDeviceProperties(&properties, 0);
}

}  // namespace

CudaDriver::Answer CudaDriver::questions(Call& call) {
  switch (call.api) {
    case Api::set_device: return cudaSetDevice(0);
    case Api::func_set_attribute: return set_function();
    case Api::func_get_attributes: return ask_function();
    case Api::occupancy: return ask_occupancy();
    case Api::get_symbol_address: return ask_symbol();
    case Api::mem_get_info: return ask_memory(call);
    case Api::pointer_get_attributes: return ask_pointer(scratch_.device);
    case Api::device_get_attribute: return ask_attribute();
    case Api::get_device_properties: return ask_properties();
    default: return std::nullopt;
  }
}

}  // namespace refrain
