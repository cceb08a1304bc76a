#include "audit/cupti/cuda_live_driver.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <utility>

#include "audit/cupti/call_frames.hpp"
#include "graphs/cuda/introspect.hpp"
#include "graphs/cuda/known_memory.hpp"

namespace refrain {
namespace {

/// The auditor's own calls must not count against a capture: a relaxed thread may make any.
class Relaxed {
 public:
  Relaxed() noexcept : changed_(cudaThreadExchangeStreamCaptureMode(&mode_) == cudaSuccess) {}
  ~Relaxed() {
    if (changed_) (void)cudaThreadExchangeStreamCaptureMode(&mode_);
  }
  Relaxed(const Relaxed&) = delete;
  Relaxed& operator=(const Relaxed&) = delete;

 private:
  cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;
  bool changed_;
};

std::string version_text(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

}  // namespace

CudaLiveDriver::CudaLiveDriver() : calls_(DriverCalls::load()) {
  // The older form refuses a stream whose last edge is programmatic (CUDA_ERROR_LOSSY_QUERY).
  take_driver_call(capture_info_, "cuStreamGetCaptureInfo", 12030);
}

std::optional<Buffer> CudaLiveDriver::identify(Address address) {
  Buffer buffer;
  if (!identify_address(calls_, address, buffer)) return std::nullopt;
  return buffer;
}

WalkedGraph CudaLiveDriver::walk(std::uint64_t graph) {
  const Relaxed relaxed;
  IntrospectedGraph read = introspect_graph(reinterpret_cast<cudaGraph_t>(graph));
  attach_known_accesses(read.graph);
  return {std::move(read.graph), std::move(read.handles)};
}

/// All is asked for: a query without room for what it has (edges, for one) is refused.
CudaLiveDriver::CaptureState CudaLiveDriver::state_of(std::uint64_t stream, bool per_thread) const {
  auto* handle = stream == 0 && per_thread ? CU_STREAM_PER_THREAD : reinterpret_cast<CUstream>(stream);
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  CUgraph graph = nullptr;
  const CUgraphNode* nodes = nullptr;
  const CUgraphEdgeData* edges = nullptr;
  std::size_t count = 0;
  cuuint64_t id = 0;
  if (capture_info_(handle, &status, &id, &graph, &nodes, &edges, &count) != CUDA_SUCCESS) return {};
  if (status == CU_STREAM_CAPTURE_STATUS_NONE) return {};
  const bool one = status == CU_STREAM_CAPTURE_STATUS_ACTIVE && count == 1;
  return {id, one ? reinterpret_cast<std::uint64_t>(nodes[0]) : 0};
}

bool CudaLiveDriver::is_mapped(Address address, std::uint64_t bytes) {
  const auto page = static_cast<Address>(::sysconf(_SC_PAGESIZE));
  const Address begin = address / page * page;
  // It writes nothing back and fails with ENOMEM where a page is not mapped.
  return ::msync(reinterpret_cast<void*>(begin), address + bytes - begin, MS_ASYNC) == 0;
}

bool CudaLiveDriver::on_own_stack(Address address) {
  return lies_on_own_stack(address);
}

Address CudaLiveDriver::caller_stack() {
  return calling_stack();
}

std::string CudaLiveDriver::call_site() {
  return calling_function();
}

DeviceLine CudaLiveDriver::device() const {
  PFN_cuDeviceGetName_v2000 name_of = nullptr;
  PFN_cuDriverGetVersion_v2020 driver_version = nullptr;
  take_driver_call(name_of, "cuDeviceGetName", 2000);
  take_driver_call(driver_version, "cuDriverGetVersion", 2020);
  std::array<char, 128> name{};
  int version = 0;
  DeviceLine line{"cuda", "", "", version_text(CUDART_VERSION)};
  if (name_of(name.data(), static_cast<int>(name.size()), 0) == CUDA_SUCCESS) line.device = name.data();
  if (driver_version(&version) == CUDA_SUCCESS) line.driver = version_text(version);
  return line;
}

}  // namespace refrain
