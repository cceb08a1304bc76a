#include "bench/gpu_bench.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <thread>
#include <utility>

#include "bench/gpu_kernels.hpp"
#include "graphs/error.hpp"

namespace refrain::bench {
namespace {

constexpr std::int64_t kReadBytes = std::int64_t{8} << 30;
constexpr std::chrono::milliseconds kWarmUp{60};
constexpr int kReadRuns = 9, kSkipped = 77;

class Event {
 public:
  Event() { check(cudaEventCreate(&event_), "cudaEventCreate"); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  ~Event() { cudaEventDestroy(event_); }
  void record(cudaStream_t stream) const { check(cudaEventRecord(event_, stream), "cudaEventRecord"); }
  [[nodiscard]] double us_since(const Event& start) const {
    check(cudaEventSynchronize(event_), "cudaEventSynchronize");
    float ms = 0;
    check(cudaEventElapsedTime(&ms, start.event_, event_), "cudaEventElapsedTime");
    return 1e3 * static_cast<double>(ms);
  }

 private:
  cudaEvent_t event_ = nullptr;
};

double replay_us(cudaStream_t stream, const std::function<void()>& replay) {
  const Event start, stop;
  start.record(stream);
  replay();
  stop.record(stream);
  return stop.us_since(start);
}

/// "580.65.06" of "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.65.06  Release Build ...".
std::string driver_version() {
  const std::string line = line_of("/proc/driver/nvidia/version", "NVRM version", "  ");
  return line.substr(0, line.find(' '));
}

nlohmann::ordered_json machine() {
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, 0), "cudaGetDeviceProperties");
  int runtime = 0;
  check(cudaRuntimeGetVersion(&runtime), "cudaRuntimeGetVersion");
  return {{"gpu", properties.name},
          {"driver", driver_version()},
          {"cuda", fmt::format("{}.{}", runtime / 1000, runtime % 1000 / 10)},
          {"cpu", cpu_name()},
          {"cores", std::thread::hardware_concurrency()}};
}

std::vector<std::string> names_in(std::string_view list) {
  std::vector<std::string> names;
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    names.emplace_back(list.substr(0, comma));
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return names;
}

Options parse(int argc, char** argv, const std::string& program) {
  Options options;
  if (const char* commit = std::getenv("REFRAIN_COMMIT")) options.commit = commit;
  options.command = program;
  for (int i = 1; i < argc; ++i) {
    const std::string option = argv[i];
    if (option == "--quick") {
      options.quick = true;
      options.command += " --quick";
    } else if (option != "--out" && option != "--commit" && option != "--cases") {
      throw Error(ErrorKind::usage, option, "expected --quick, --cases, --out or --commit", program);
    } else if (++i == argc) {
      throw Error(ErrorKind::usage, option, "expected a value after it", program);
    } else if (option == "--cases") {
      options.command.append(" --cases ").append(argv[i]);
      options.cases = names_in(argv[i]);
    } else {
      (option == "--out" ? options.out : options.commit) = argv[i];
    }
  }
  return options;
}

}  // namespace

void check(cudaError_t status, const char* call, std::source_location where) {
  if (status == cudaSuccess) return;
  cudaGetLastError();
  throw Error(ErrorKind::driver, call, cudaGetErrorString(status),
              fmt::format("{}:{}", where.file_name(), where.line()), static_cast<int>(status));
}

DeviceBuffer::DeviceBuffer(std::size_t bytes) : bytes_(bytes) {
  check(cudaMalloc(reinterpret_cast<void**>(&data_), bytes), "cudaMalloc");
}

DeviceBuffer::DeviceBuffer(DeviceBuffer&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

DeviceBuffer& DeviceBuffer::operator=(DeviceBuffer&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

DeviceBuffer::~DeviceBuffer() {
  cudaFree(data_);
}

Stream::Stream() {
  check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
}

Stream::~Stream() {
  cudaStreamDestroy(stream_);
}

CapturedGraph::CapturedGraph(const Stream& stream, const std::function<void(cudaStream_t)>& work) {
  check(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
  work(stream.get());
  const cudaError_t launched = cudaGetLastError();
  cudaGraph_t graph = nullptr;
  const cudaError_t ended = cudaStreamEndCapture(stream.get(), &graph);
  check(launched, "a launch in a capture");
  check(ended, "cudaStreamEndCapture");
  const cudaError_t made = cudaGraphInstantiate(&exec_, graph, 0);
  cudaGraphDestroy(graph);
  check(made, "cudaGraphInstantiate");
}

CapturedGraph::~CapturedGraph() {
  cudaGraphExecDestroy(exec_);
}

double replay_us(const Stream& stream, const CapturedGraph& graph, int parts) {
  return replay_us(stream.get(), [&] { graph.replay(stream); }) / parts;
}

Times time_replays(const Stream& stream, const CapturedGraph& graph, int parts, int replays) {
  const Times times = time_replays(
      stream.get(), [&] { graph.replay(stream); }, replays);
  return {times.median_us / parts, times.min_us / parts, times.max_us / parts};
}

Times time_replays(cudaStream_t stream, const std::function<void()>& replay, int replays) {
  // An idle GPU lowers its clocks, and takes tens of milliseconds of work to raise them again.
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < 2 || std::chrono::steady_clock::now() - begin < kWarmUp; ++i) {
    replay();
    check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  }
  std::vector<double> samples;
  for (int i = 0; i < replays; ++i) samples.push_back(replay_us(stream, replay));
  return times_of(std::move(samples));
}

void fill_random(const Stream& stream, void* data, Dtype dtype, std::int64_t count, std::uint32_t seed) {
  const auto bytes = count * static_cast<std::int64_t>(dtype_bytes(dtype));
  launch_fill(data, dtype, bytes, seed, stream.get());
  check(cudaGetLastError(), "fill_kernel");
}

double measure_read_gbps(const Stream& stream) {
  const DeviceBuffer data(static_cast<std::size_t>(kReadBytes)), sink(sizeof(std::uint32_t));
  fill_random(stream, data.data(), Dtype::fp32, kReadBytes / 4, 1);
  double best = 0;
  // A few rounds of blocks that stay, or a block a piece: which is faster differs by device, and the ceiling is the
  // best.
  for (const int blocks : {264, 528, 1 << 30}) {
    const CapturedGraph graph(stream, [&](cudaStream_t on) {
      launch_read(data.data(), kReadBytes, blocks, reinterpret_cast<std::uint32_t*>(sink.data()), on);
    });
    best = std::max(best, static_cast<double>(kReadBytes) / time_replays(stream, graph, 1, kReadRuns).median_us * 1e-3);
  }
  return best;
}

double measure_l2_gbps(const Stream& stream) {
  constexpr std::int64_t kBytes = std::int64_t{8} << 20;
  constexpr int kPasses = 256;
  const DeviceBuffer data(static_cast<std::size_t>(kBytes)), sink(sizeof(std::uint32_t));
  fill_random(stream, data.data(), Dtype::fp32, kBytes / 4, 1);
  double best = 0;
  for (const int blocks : {264, 528}) {
    const CapturedGraph graph(stream, [&](cudaStream_t on) {
      launch_reread(data.data(), kBytes, kPasses, blocks, reinterpret_cast<std::uint32_t*>(sink.data()), on);
    });
    const double bytes = static_cast<double>(kBytes) * kPasses;
    best = std::max(best, bytes / time_replays(stream, graph, 1, kReadRuns).median_us * 1e-3);
  }
  return best;
}

bool Options::wants(const std::string& name) const {
  return cases.empty() || std::find(cases.begin(), cases.end(), name) != cases.end();
}

nlohmann::ordered_json frame(const std::string& topic, const Options& options, double read_gbps) {
  return {{"schema", "refrain.bench/1"},
          {"topic", topic},
          {"machine", machine()},
          {"commit", options.commit.empty() ? "unknown" : options.commit},
          {"command", options.command},
          {"date", today()},
          {"ceilings", {{"read_gbps", read_gbps}}},
          {"rows", nlohmann::ordered_json::array()}};
}

void write(const nlohmann::ordered_json& json, const Options& options) {
  write_result(json, options.out);
}

int main_of(int argc, char** argv, const std::string& program, void (*run)(const Options&)) try {
  const Options options = parse(argc, argv, program);
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    cudaGetLastError();
    std::cerr << "SKIPPED: no CUDA device\n";
    return kSkipped;
  }
  run(options);
  return 0;
} catch (const Error& error) {
  std::cerr << error.what() << "\n";
  return 2;
}

}  // namespace refrain::bench
