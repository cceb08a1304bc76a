// What the GPU benches share: device memory, captured graphs and their replay
// times, the plain streaming read that every figure is held against, and the
// refrain.bench/1 frame. It knows nothing about ops. Everything throws Error.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <source_location>
#include <string>
#include <vector>

#include "bench/result.hpp"
#include "graphs/contract.hpp"

namespace refrain::bench {

void check(cudaError_t status, const char* call, std::source_location where = std::source_location::current());

/// Owns device memory.
class DeviceBuffer {
 public:
  explicit DeviceBuffer(std::size_t bytes);
  DeviceBuffer(DeviceBuffer&& other) noexcept;
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept;
  ~DeviceBuffer();
  [[nodiscard]] std::byte* data() const noexcept { return data_; }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }

 private:
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
};

/// The small arrays of one case, freed together.
class DeviceArrays {
 public:
  template <class T>
  T* take(std::int64_t count) {
    return reinterpret_cast<T*>(buffers_.emplace_back(static_cast<std::size_t>(count) * sizeof(T)).data());
  }
  template <class T>
  T* put(const std::vector<T>& values) {
    T* out = take<T>(static_cast<std::int64_t>(values.size()));
    check(cudaMemcpy(out, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice), "cudaMemcpy");
    return out;
  }

 private:
  std::vector<DeviceBuffer> buffers_;
};

class Stream {
 public:
  Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  ~Stream();
  [[nodiscard]] cudaStream_t get() const noexcept { return stream_; }
  void wait() const { check(cudaStreamSynchronize(stream_), "cudaStreamSynchronize"); }

 private:
  cudaStream_t stream_ = nullptr;
};

/// What `work` enqueues on the stream, as an executable graph.
class CapturedGraph {
 public:
  CapturedGraph(const Stream& stream, const std::function<void(cudaStream_t)>& work);
  CapturedGraph(const CapturedGraph&) = delete;
  CapturedGraph& operator=(const CapturedGraph&) = delete;
  ~CapturedGraph();
  void replay(const Stream& stream) const { check(cudaGraphLaunch(exec_, stream.get()), "cudaGraphLaunch"); }

 private:
  cudaGraphExec_t exec_ = nullptr;
};

/// One replay's device time over `parts`, the repetitions inside the graph; the clock starts on a busy stream.
[[nodiscard]] double replay_us(const Stream& stream, const CapturedGraph& graph, int parts);
/// After replays that don't count, two and as many as it takes for the clocks to be up.
[[nodiscard]] Times time_replays(const Stream& stream, const CapturedGraph& graph, int parts, int replays);

/// Likewise of one replay of whatever `replay` enqueues on the stream.
[[nodiscard]] Times time_replays(cudaStream_t stream, const std::function<void()>& replay, int replays);

/// From the device; `count` elements.
template <class T>
[[nodiscard]] std::vector<T> read(const void* from, std::int64_t count) {
  std::vector<T> out(static_cast<std::size_t>(count));
  check(cudaMemcpy(out.data(), from, out.size() * sizeof(T), cudaMemcpyDeviceToHost), "cudaMemcpy");
  return out;
}

/// Finite values of [-2, 2), the same for the same seed; fp16, bf16, e4m3 or fp32.
void fill_random(const Stream& stream, void* data, Dtype dtype, std::int64_t count, std::uint32_t seed);

/// Plain reads of 16 bytes a thread over 8 GiB: the ceiling that figures of one run are held against.
[[nodiscard]] double measure_read_gbps(const Stream& stream);
/// Plain reads of 16 bytes a thread of 8 MiB that the L2 holds, again and again.
[[nodiscard]] double measure_l2_gbps(const Stream& stream);

struct Options {
  bool quick = false;
  std::vector<std::string> cases;  ///< by name; empty = all
  std::string out, commit, command;

  [[nodiscard]] bool wants(const std::string& name) const;
};
/// The frame of a result: schema, topic, machine, commit, command, date, ceilings; rows are the caller's.
[[nodiscard]] nlohmann::ordered_json frame(const std::string& topic, const Options& options, double read_gbps);
/// To options.out, or to standard output.
void write(const nlohmann::ordered_json& json, const Options& options);

/// What a bench's main returns: of `run` with the options --quick, --cases A,B, --out FILE and --commit HASH (which
/// also comes from REFRAIN_COMMIT) 0; 77, after saying so, without a device; 2 and one line for an Error.
[[nodiscard]] int main_of(int argc, char** argv, const std::string& program, void (*run)(const Options&));

}  // namespace refrain::bench
