// The driver for an NVIDIA GPU: every Call is the CUDA call of that name, on
// device 0, and its answer is CUDA's own code. It keeps no rules of its own; a
// handle is CUDA's pointer as a number, stream 0 the legacy stream. Thread-safe,
// as CUDA's calls are. The calls of cuBLAS and of modules it answers with
// not_supported (801): it links neither. Code in one file a group of calls.
#pragma once

#include <mutex>
#include <optional>

#include "graphs/cuda/driver_calls.hpp"
#include "runtime/cuda/nvtx_ranges.hpp"
#include "runtime/cuda/scratch.hpp"
#include "runtime/cuda/virtual_memory.hpp"
#include "runtime/driver.hpp"

namespace refrain {

class CudaDriver final : public Driver {
 public:
  /// Throws Error{driver} without a device that this build has code for.
  CudaDriver();

  [[nodiscard]] DeviceInfo device() const override { return info_; }
  [[nodiscard]] Status submit(Call& call) override;
  [[nodiscard]] Status introspect(GraphHandle graph, Introspection& out) override;
  [[nodiscard]] Status identify(Address address, Buffer& out) override;
  void begin_range(const char* name, std::uint64_t payload) noexcept override { ranges_.begin(name, payload); }
  void end_range() noexcept override { ranges_.end(); }

 private:
  /// What a group of calls answers; nothing when the call is not of the group.
  using Answer = std::optional<cudaError_t>;

  // work.cpp: what is enqueued on a stream, and the blocking copies.
  Answer work(Call& call);
  Answer copies(Call& call);
  Answer other_work(Call& call);
  // graphs.cpp: capture, graphs, graph execs.
  Answer capture(Call& call);
  Answer graphs(Call& call);
  // streams.cpp: streams, events, waiting.
  Answer streams(Call& call);
  Answer events(Call& call);
  // memory.cpp: allocation and what changes pools and limits.
  Answer allocation(Call& call);
  Answer memory_settings(Call& call);
  // virtual_memory.cpp: reservations and what is mapped behind them.
  Answer virtual_memory(Call& call);
  // people.cpp: questions that people's code asks of the runtime.
  Answer questions(Call& call);

  [[nodiscard]] static cudaStream_t stream_of(const Call& call) noexcept;

  DriverCalls calls_;
  VirtualMemoryCalls virtual_memory_calls_;
  Scratch scratch_;
  DeviceInfo info_;
  NvtxRanges ranges_;
  // Held while a capture begins or ends, not while it lasts: CUDA does not promise that two threads may do that at
  // once while modules are loaded lazily.
  std::mutex capture_lock_;
};

}  // namespace refrain
