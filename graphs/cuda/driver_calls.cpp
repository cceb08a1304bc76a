#include "graphs/cuda/driver_calls.hpp"

#include <fmt/format.h>

#include "graphs/error.hpp"

namespace refrain {
void* find_driver_call(const char* symbol, unsigned int version) {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult result = cudaDriverEntryPointSymbolNotFound;
  check_cuda(cudaGetDriverEntryPointByVersion(symbol, &found, version, cudaEnableDefault, &result), symbol);
  if (result != cudaDriverEntryPointSuccess || found == nullptr)
    throw Error(ErrorKind::driver, symbol, "this CUDA driver does not have it; a driver for CUDA 13.0 or newer does",
                "");
  return found;
}

DriverCalls DriverCalls::load() {
  DriverCalls calls;
  take_driver_call(calls.graph_kernel_node_get_params, "cuGraphKernelNodeGetParams", 12000);
  take_driver_call(calls.graph_memcpy_node_get_params, "cuGraphMemcpyNodeGetParams", 10000);
  take_driver_call(calls.func_get_name, "cuFuncGetName", 12030);
  take_driver_call(calls.kernel_get_name, "cuKernelGetName", 12030);
  take_driver_call(calls.func_get_param_info, "cuFuncGetParamInfo", 12040);
  take_driver_call(calls.kernel_get_param_info, "cuKernelGetParamInfo", 12040);
  take_driver_call(calls.pointer_get_attributes, "cuPointerGetAttributes", 7000);
  return calls;
}

void check_cuda(cudaError_t code, const char* what) {
  if (code == cudaSuccess) return;
  (void)cudaGetLastError();
  throw Error(ErrorKind::driver, what, fmt::format("{} ({})", cudaGetErrorName(code), static_cast<int>(code)), "",
              static_cast<int>(code));
}

void check_cuda(CUresult code, const char* what) {
  if (code == CUDA_SUCCESS) return;
  throw Error(ErrorKind::driver, what, fmt::format("CUresult {}", static_cast<int>(code)), "", static_cast<int>(code));
}

}  // namespace refrain
