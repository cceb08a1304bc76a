#include "runtime/cuda/cuda_driver.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <fstream>
#include <utility>

#include "graphs/cuda/introspect.hpp"
#include "graphs/cuda/known_memory.hpp"
#include "runtime/cuda/cuda_status.hpp"
#include "runtime/cuda/probe.hpp"

namespace refrain {
namespace {

constexpr int kDevice = 0;  // CUDA_VISIBLE_DEVICES picks which GPU that is

/// `13.0` for 13000.
std::string version_text(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

/// The kernel module's number, e.g. `580.159.04`: the word of digits and dots in the first line of the file; empty
/// where the file cannot be read, as in some containers.
std::string kernel_module_version() {
  std::ifstream file("/proc/driver/nvidia/version");
  std::string line;
  std::getline(file, line);
  std::string word;
  for (std::size_t at = 0; at < line.size(); at += word.size() + 1) {
    word = line.substr(at, line.find_first_of(" \t", at) - at);
    const bool digits =
        std::all_of(word.begin(), word.end(), [](unsigned char c) { return c == '.' || std::isdigit(c); });
    if (digits && word.find('.') != std::string::npos) return word;
  }
  return "";
}

DeviceInfo describe_device() {
  int runtime = 0, driver = 0;
  cudaDeviceProp properties{};
  check(status_of(cudaGetDeviceProperties(&properties, kDevice)), "cudaGetDeviceProperties");
  check(status_of(cudaRuntimeGetVersion(&runtime)), "cudaRuntimeGetVersion");
  check(status_of(cudaDriverGetVersion(&driver)), "cudaDriverGetVersion");
  std::string module = kernel_module_version();
  if (module.empty()) module = "CUDA " + version_text(driver);
  return {"cuda", properties.name, std::move(module), version_text(runtime)};
}

}  // namespace

CudaDriver::CudaDriver()
    : calls_(DriverCalls::load()),
      virtual_memory_calls_(VirtualMemoryCalls::load()),
      scratch_(kDevice),
      info_(describe_device()) {
  cudaFuncAttributes attributes{};
  check(status_of(cudaFuncGetAttributes(&attributes, probe_kernel())), "this build has no code for the GPU");
}

Status CudaDriver::submit(Call& call) {
  // Hottest first.
  for (const auto group : {&CudaDriver::work, &CudaDriver::graphs, &CudaDriver::copies, &CudaDriver::streams,
                           &CudaDriver::events, &CudaDriver::capture, &CudaDriver::allocation, &CudaDriver::other_work,
                           &CudaDriver::memory_settings, &CudaDriver::virtual_memory, &CudaDriver::questions}) {
    const Answer answer = (this->*group)(call);
    if (!answer) continue;
    const Status status = status_of(*answer);
    // At exit the runtime may be gone before what owns its handles; then there is nothing left to destroy.
    return *answer == cudaErrorCudartUnloading && gives_back(call.api) ? Status::success : status;
  }
  return Status::not_supported;
}

Status CudaDriver::introspect(GraphHandle graph, Introspection& out) {
  try {
    IntrospectedGraph seen = introspect_graph(handle_of<cudaGraph_t>(graph.id));
    out.graph = std::move(seen.graph);
    out.handles = std::move(seen.handles);
    return Status::success;
  } catch (const Error& error) {
    return static_cast<Status>(error.status());
  }
}

Status CudaDriver::identify(Address address, Buffer& out) {
  return identify_address(calls_, address, out) ? Status::success : Status::invalid_value;
}

cudaStream_t CudaDriver::stream_of(const Call& call) noexcept {
  if (call.target == Target::per_thread) return cudaStreamPerThread;
  return call.stream.id == 0 ? cudaStreamLegacy : handle_of<cudaStream_t>(call.stream.id);
}

}  // namespace refrain
