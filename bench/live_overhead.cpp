// What the auditor of a live process costs: one launch of a graph of 1,000 kernels
// before its window, in it and after it, over a process without it; and the steps of a
// PyTorch decode in and after a window (the script that REFRAIN_BENCH_PEER names). Each
// is a process of its own: a CUPTI that was once attached cannot be unmade. Writes
// refrain.bench/1.
//   bench_live_overhead [--quick] [--out FILE] [--commit HASH]
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string_view>

#include "audit/cupti/live_settings.hpp"
#include "audit/cupti/refrain_audit.h"
#include "bench/gpu_bench.hpp"
#include "bench/gpu_kernels.hpp"
#include "graphs/error.hpp"

namespace refrain::bench {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr int kNodes = 1000;
constexpr std::int64_t kBytes = 512;  // one block of 32 threads

/// Host time of one cudaGraphLaunch, the stream idle before each.
Times launch_times(const Stream& stream, const CapturedGraph& graph) {
  constexpr int kLaunches = 200;
  std::vector<double> samples;
  for (int i = 0; i < kLaunches; ++i) {
    const auto start = std::chrono::steady_clock::now();
    graph.replay(stream);
    samples.push_back(std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count());
    stream.wait();
  }
  return times_of(samples);
}

Json of(const Times& times) {
  return {{"median", times.median_us}, {"min", times.min_us}, {"max", times.max_us}};
}

/// In the process that is measured; where no auditor is in it, the window is none.
int measure_here() {
  const Stream stream;
  const DeviceBuffer memory(kBytes);
  const auto chain = [&](cudaStream_t to) {
    for (int i = 0; i < kNodes; ++i) launch_fill(memory.data(), Dtype::fp32, kBytes, 1, to);
  };
  chain(stream.get());
  stream.wait();
  const CapturedGraph early(stream, chain);
  (void)launch_times(stream, early);
  Json out;
  out["before"] = of(launch_times(stream, early));
  const int begun = refrain_audit_begin();
  out["during_early"] = of(launch_times(stream, early));
  const CapturedGraph made_inside(stream, chain);
  out["during"] = of(launch_times(stream, made_inside));
  const int ended = refrain_audit_end();
  out["after_early"] = of(launch_times(stream, early));
  out["after"] = of(launch_times(stream, made_inside));
  out["window"] = begun == 0 && ended == 0;
  std::cout << out.dump() << "\n";
  return 0;
}

fs::path self() {
  return fs::read_symlink("/proc/self/exe");
}

std::string library() {
  for (const char* place : {"librefrain_inject.so", "../audit/cupti/librefrain_inject.so"})
    if (const fs::path path = self().parent_path() / place; fs::exists(path)) return fs::canonical(path).string();
  throw Error(ErrorKind::input, "looking for librefrain_inject.so", "not beside the bench; build refrain_inject", "");
}

/// `variables` before a command of the shell, and the JSON object that it prints.
Json json_of(const std::string& variables, const std::string& command) {
  const std::string line = fmt::format("env {} {}", variables, command);
  std::FILE* pipe = ::popen(line.c_str(), "r");
  if (pipe == nullptr) throw Error(ErrorKind::driver, "popen", "no shell", line);
  std::string text;
  char part[512];
  while (std::fgets(part, sizeof part, pipe) != nullptr) text += part;
  if (::pclose(pipe) != 0) throw Error(ErrorKind::refused, line, "the measured process failed; see above", "");
  return Json::parse(text);
}

/// A folder for recordings that are not looked at.
struct Scratch {
  fs::path path = fs::temp_directory_path() / fmt::format("refrain-live-overhead-{}", ::getpid());
  Scratch() { fs::create_directories(path); }
  ~Scratch() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
};

std::string with_auditor(const Scratch& scratch, const std::string& more) {
  return fmt::format("CUDA_INJECTION64_PATH={} {}={} {}", library(), kLiveFolder, scratch.path.string(), more);
}

Json graph_row() {
  const Scratch scratch;
  const std::string child = fmt::format("{} --child", self().string());
  const Json without = json_of("", child);
  const Json with = json_of(with_auditor(scratch, fmt::format("{}=calls", kLiveWindow)), child);
  if (!with["window"].get<bool>())
    throw Error(ErrorKind::refused, "the window", "it did not open: CUPTI is missing, or another tool holds it", "");
  const auto median = [](const Json& of, const char* phase) { return of[phase]["median"].get<double>(); };
  Json row = {{"case", fmt::format("graph-{}", kNodes)}};
  const auto add = [&](const char* name, const Json& times) {
    row[fmt::format("{}_us", name)] = times["median"];
    row[fmt::format("{}_us_min", name)] = times["min"];
    row[fmt::format("{}_us_max", name)] = times["max"];
  };
  add("launch_without_auditor", without["during"]);
  add("launch_before_window", with["before"]);
  add("launch_during_window", with["during"]);
  add("launch_after_window", with["after"]);
  row["launch_before_window_ratio"] = median(with, "before") / median(without, "before");
  row["launch_during_window_ratio"] = median(with, "during") / median(without, "during");
  row["launch_after_window_ratio"] = median(with, "after") / median(without, "after");
  row["launch_of_early_graph_during_window_ratio"] = median(with, "during_early") / median(without, "during_early");
  row["launch_of_early_graph_after_window_ratio"] = median(with, "after_early") / median(without, "after_early");
  row["limited_by"] = "in the window: CUPTI, which looks at each node of a launch as soon as anyone is subscribed";
  return row;
}

/// The script times its first steps and its last; with the auditor the window ends in between.
Json decode_row(const std::string& script) {
  const Scratch scratch;
  const std::string command = fmt::format("python3 {}", script);
  const Json without = json_of("", command);
  const Json with = json_of(with_auditor(scratch, fmt::format("{}={}", kLiveLaunches, 150)), command);
  const auto us = [](const Json& of, const char* part) { return of[part].get<double>(); };
  return {{"case", "pytorch-decode"},
          {"torch", with["torch"]},
          {"step_without_auditor_us", us(without, "last_step_us")},
          {"step_during_window_us", us(with, "first_step_us")},
          {"step_after_window_us", us(with, "last_step_us")},
          {"step_during_window_ratio", us(with, "first_step_us") / us(without, "first_step_us")},
          {"step_after_window_ratio", us(with, "last_step_us") / us(without, "last_step_us")},
          {"limited_by", "in the window: CUPTI, and the look at the graph's pointers at each launch"}};
}

void run(const Options& options) {
  Json json = frame("live-overhead", options, 0);
  json.erase("ceilings");  // host time: no bandwidth bounds it
  const auto tell = [&](const Json& row) {
    json["rows"].push_back(row);
    std::cerr << row.dump() << "\n";
  };
  tell(graph_row());
  if (const char* script = std::getenv("REFRAIN_BENCH_PEER"); script != nullptr && !options.quick)
    tell(decode_row(script));
  write(json, options);
}

}  // namespace
}  // namespace refrain::bench

int main(int argc, char** argv) try {
  if (argc == 2 && std::string_view(argv[1]) == "--child") return refrain::bench::measure_here();
  return refrain::bench::main_of(argc, argv, "bench_live_overhead", refrain::bench::run);
} catch (const std::exception& error) {
  std::cerr << error.what() << "\n";
  return 2;
}
