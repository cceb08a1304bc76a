// The driver-only calls that introspection needs, taken at run time: the
// program must start without libcuda, so it never links it. The runtime API
// covers the rest. Plain function pointers, all present once load() returns.
#pragma once

#include <cudaTypedefs.h>
#include <cuda_runtime_api.h>

namespace refrain {

struct DriverCalls {
  PFN_cuGraphKernelNodeGetParams_v12000 graph_kernel_node_get_params = nullptr;
  PFN_cuGraphMemcpyNodeGetParams_v10000 graph_memcpy_node_get_params = nullptr;
  PFN_cuFuncGetName_v12030 func_get_name = nullptr;
  PFN_cuKernelGetName_v12030 kernel_get_name = nullptr;
  PFN_cuFuncGetParamInfo_v12040 func_get_param_info = nullptr;
  PFN_cuKernelGetParamInfo_v12040 kernel_get_param_info = nullptr;
  PFN_cuPointerGetAttributes_v7000 pointer_get_attributes = nullptr;

  /// Throws Error{driver} where the driver is missing or has not one of them.
  [[nodiscard]] static DriverCalls load();
};

/// The driver's entry point with the signature that `version` names, however new the driver is. Throws Error{driver}
/// where the driver is missing or has not got it.
[[nodiscard]] void* find_driver_call(const char* symbol, unsigned int version);
template <class Function>
void take_driver_call(Function& out, const char* symbol, unsigned int version) {
  out = reinterpret_cast<Function>(find_driver_call(symbol, version));
}

/// Throw Error{driver} with the call's number unless it went well; the first clears the runtime's last error.
void check_cuda(cudaError_t code, const char* what);
void check_cuda(CUresult code, const char* what);

}  // namespace refrain
