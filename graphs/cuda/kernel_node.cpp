#include "graphs/cuda/kernel_node.hpp"

#include <cxxabi.h>

#include <cstdlib>
#include <cstring>
#include <memory>

namespace refrain {
namespace {

std::string demangled(const std::string& mangled) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status),
                                                    std::free);
  return status == 0 && text ? text.get() : mangled;
}

/// A node names its kernel as a function of a context, as a kernel of a library, or both.
const char* name_of(const DriverCalls& calls, const CUDA_KERNEL_NODE_PARAMS& params) {
  const char* name = nullptr;
  if (params.func != nullptr && calls.func_get_name(&name, params.func) == CUDA_SUCCESS && name != nullptr) return name;
  if (params.kern != nullptr) check_cuda(calls.kernel_get_name(&name, params.kern), "cuKernelGetName");
  return name != nullptr ? name : "";
}

struct Place {
  std::size_t offset = 0, bytes = 0;
};

enum class Asked { found, end, failed };

Asked place_of(const DriverCalls& calls, const CUDA_KERNEL_NODE_PARAMS& params, std::size_t index, Place& out) {
  const CUresult code = params.func != nullptr
                            ? calls.func_get_param_info(params.func, index, &out.offset, &out.bytes)
                            : calls.kernel_get_param_info(params.kern, index, &out.offset, &out.bytes);
  if (code == CUDA_SUCCESS) return Asked::found;
  return code == CUDA_ERROR_INVALID_VALUE ? Asked::end : Asked::failed;  // past the last parameter it is 1
}

/// The `extra` form: one buffer that holds all parameters, e.g. of a launch through the driver API.
struct PackedParams {
  const std::uint8_t* data = nullptr;
  std::size_t bytes = 0;
};

PackedParams packed(void** extra) {
  PackedParams out;
  for (; extra != nullptr && extra[0] != CU_LAUNCH_PARAM_END; extra += 2) {
    if (extra[0] == CU_LAUNCH_PARAM_BUFFER_POINTER) out.data = static_cast<const std::uint8_t*>(extra[1]);
    if (extra[0] == CU_LAUNCH_PARAM_BUFFER_SIZE) out.bytes = *static_cast<const std::size_t*>(extra[1]);
  }
  return out;
}

const std::uint8_t* value_of(const CUDA_KERNEL_NODE_PARAMS& params, const PackedParams& pack, std::size_t index,
                             const Place& place) {
  if (params.kernelParams != nullptr) return static_cast<const std::uint8_t*>(params.kernelParams[index]);
  if (pack.data == nullptr || place.offset > pack.bytes || place.bytes > pack.bytes - place.offset) return nullptr;
  return pack.data + place.offset;
}

}  // namespace

bool read_kernel_node(const DriverCalls& calls, cudaGraphNode_t from, Node& to) {
  CUDA_KERNEL_NODE_PARAMS params{};
  check_cuda(calls.graph_kernel_node_get_params(from, &params), "cuGraphKernelNodeGetParams");
  to.mangled = name_of(calls, params);
  to.name = demangled(to.mangled);
  to.grid = {params.gridDimX, params.gridDimY, params.gridDimZ};
  to.block = {params.blockDimX, params.blockDimY, params.blockDimZ};
  to.shared_bytes = params.sharedMemBytes;
  const PackedParams pack = packed(params.extra);
  for (std::size_t index = 0;; ++index) {
    Place place;
    const Asked asked = place_of(calls, params, index, place);
    if (asked != Asked::found) return asked == Asked::end;
    const std::uint8_t* value = value_of(params, pack, index, place);
    if (value == nullptr) return false;
    to.params.push_back({place.offset, place.bytes, {value, value + place.bytes}});
  }
}

}  // namespace refrain
