// How `refrain review` grows with its trace: exports of Nsight Systems with a million
// and ten million rows, and a trace of PyTorch's profiler of a gigabyte, all made
// here and gone at the end. The program runs as a process, its peak memory
// sampled; what it keeps of each event is counted in this one. With --peer,
// Holistic Trace Analysis reads the same file. Writes refrain.bench/1.
//   bench_review_scale [--rows 1000000,10000000] [--kineto-bytes 1000000000] [--peer PYTHON] [--program FILE]
//                      [--out FILE] [--commit HASH]
// The commit also comes from REFRAIN_COMMIT; PYTHON has HolisticTraceAnalysis; `./dev bench review-scale` makes one.
#include <fmt/format.h>

#include <charconv>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "bench/child_process.hpp"
#include "bench/result.hpp"
#include "bench/review_traces.hpp"
#include "graphs/error.hpp"
#include "traces/readers.hpp"

namespace refrain {
namespace {

constexpr const char* kSelf = "bench_review_scale";

struct Options {
  std::vector<std::uint64_t> rows = {1'000'000, 10'000'000};
  std::uint64_t kineto_bytes = 1'000'000'000;
  std::string peer, program, out, commit, command;
};

struct Kept {
  std::uint64_t events = 0, bytes = 0;
  double read_ms = 0;
  bench::TraceCounts counts;
};

std::uint64_t bytes_of(const Timeline& timeline) {
  std::uint64_t strings = timeline.strings.size() * sizeof(std::string);
  for (const std::string& text : timeline.strings) strings += text.size();
  return strings + timeline.calls.size() * sizeof(ApiEvent) + timeline.work.size() * sizeof(WorkEvent) +
         timeline.ranges.size() * sizeof(RangeEvent) + timeline.graph_nodes.size() * sizeof(GraphNodeEvent);
}

const char* call_name(Api api) {
  switch (api) {
    case Api::launch_kernel: return "call cudaLaunchKernel";
    case Api::graph_launch: return "call cudaGraphLaunch";
    case Api::event_record: return "call cudaEventRecord";
    case Api::event_synchronize: return "call cudaEventSynchronize";
    default: return is_async_copy(api) ? "call cudaMemcpyAsync" : "call of another name";
  }
}

/// Reads in this process, to see what stays and whether it is all there.
Kept read_here(const std::string& path) {
  Kept kept;
  const auto start = std::chrono::steady_clock::now();
  const Recording recording = load_recording(path);
  kept.read_ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  const Timeline& timeline = recording.timeline;
  kept.events = timeline.calls.size() + timeline.work.size() + timeline.ranges.size();
  kept.bytes = bytes_of(timeline);
  for (const ApiEvent& call : timeline.calls) ++kept.counts[call_name(call.api)];
  std::vector<std::uint64_t> kernels(timeline.strings.size());
  for (const WorkEvent& work : timeline.work)
    if (work.kind == WorkKind::kernel)
      ++kernels[work.name];
    else
      ++kept.counts["copies"];
  for (std::size_t name = 0; name < kernels.size(); ++name)
    if (kernels[name] > 0) kept.counts["kernel " + timeline.strings[name]] = kernels[name];
  return kept;
}

void expect_counts(const bench::TraceCounts& found, const bench::TraceCounts& expected, const std::string& reader) {
  if (found == expected) return;
  for (const auto& [name, count] : expected)
    if (const auto at = found.find(name); at == found.end() || at->second != count)
      throw Error(ErrorKind::input, reader,
                  fmt::format("expected {} of \"{}\", found {}", count, name, at == found.end() ? 0 : at->second),
                  kSelf);
  throw Error(ErrorKind::input, reader, "it found what is not in the trace", kSelf);
}

nlohmann::ordered_json measure(const std::string& name, const std::string& path, std::uint64_t steps,
                               const Options& options, const char* limited_by) {
  const std::uint64_t rows = steps * bench::kRowsOfStep;
  const bench::Command command = bench::run_command({options.program, "review", path});
  const Kept kept = read_here(path);
  expect_counts(kept.counts, bench::counts_of_steps(steps), "refrain");
  const double per_event = static_cast<double>(kept.bytes) / static_cast<double>(kept.events);
  return {{"case", name},
          {"rows", rows},
          {"steps", steps},
          {"file_bytes", std::filesystem::file_size(path)},
          {"command_ms", command.ms},
          {"command_cpu_ms", command.cpu_ms},
          {"read_ms", kept.read_ms},
          {"rows_per_s", static_cast<double>(rows) * 1e3 / command.ms},
          {"events_kept", kept.events},
          {"bytes_per_event_kept", per_event},
          {"peak_bytes", command.peak_bytes},
          {"peak_bytes_per_event", static_cast<double>(command.peak_bytes) / static_cast<double>(kept.events)},
          {"limited_by", limited_by}};
}

/// Reads and counts by the same words in a process of its own; the time is that within Python, without its imports.
void run_peer(nlohmann::ordered_json& row, const std::string& path, const bench::TraceCounts& expected,
              const Options& options, const bench::TemporaryFolder& folder) {
  const std::string answer = folder.path("hta.json");
  const std::string script = REFRAIN_SOURCE_DIR "/bench/peers/trace_analysis.py";
  const bench::Command command = bench::run_command({options.peer, "-B", script, path, answer});
  const nlohmann::json told = nlohmann::json::parse(std::ifstream(answer));
  expect_counts(told.at("counts").get<bench::TraceCounts>(), expected, "Holistic Trace Analysis");
  const auto hta_ms = told.at("ms").get<double>();
  row["hta_version"] = told.at("version");
  row["hta_ms"] = hta_ms;
  row["hta_cpu_ms"] = told.at("cpu_ms");
  row["hta_peak_bytes"] = command.peak_bytes;
  row["speedup_over_hta_ratio"] = hta_ms / row.at("command_ms").get<double>();
  row["cpu_time_over_hta_ratio"] = told.at("cpu_ms").get<double>() / row.at("command_cpu_ms").get<double>();
  row["hta_measured"] =
      "its parsing with the default backend and its counts by name, without its imports; of ours the whole command";
}

std::uint64_t number(std::string_view text, const std::string& option) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < bench::kRowsOfStep)
    throw Error(ErrorKind::usage, option, fmt::format("expected a number from 100 on, found \"{}\"", text), kSelf);
  return value;
}

std::vector<std::uint64_t> numbers(std::string_view text, const std::string& option) {
  std::vector<std::uint64_t> list;
  while (true) {
    const auto comma = text.find(',');
    list.push_back(number(text.substr(0, comma), option));
    if (comma == std::string_view::npos) return list;
    text.remove_prefix(comma + 1);
  }
}

Options parse(int argc, char** argv) {
  Options options;
  if (const char* commit = std::getenv("REFRAIN_COMMIT")) options.commit = commit;
  options.command = kSelf;
  for (int i = 1; i < argc; i += 2) {
    const std::string option = argv[i];
    if (i + 1 == argc) throw Error(ErrorKind::usage, option, "expected a value after it", kSelf);
    const std::string value = argv[i + 1];
    if (option == "--rows" || option == "--kineto-bytes" || option == "--peer")
      options.command.append(" ").append(option).append(" ").append(value);
    if (option == "--rows")
      options.rows = numbers(value, option);
    else if (option == "--kineto-bytes")
      options.kineto_bytes = number(value, option);
    else if (option == "--peer")
      options.peer = value;
    else if (option == "--program")
      options.program = value;
    else if (option == "--out")
      options.out = value;
    else if (option == "--commit")
      options.commit = value;
    else
      throw Error(ErrorKind::usage, option, "expected --rows, --kineto-bytes, --peer, --program, --out or --commit",
                  kSelf);
  }
  if (options.program.empty()) options.program = bench::refrain_beside(kSelf);
  return options;
}

nlohmann::ordered_json measure_nsys(std::uint64_t rows, const Options& options) {
  const bench::TemporaryFolder folder("review-scale");
  const std::string path = folder.path("export.sqlite");
  const std::uint64_t steps = rows / bench::kRowsOfStep;
  bench::write_nsys(path, steps);
  return measure(fmt::format("nsys-{}-rows", rows), path, steps, options,
                 "one core: SQLite's stepping through rows from the page cache, then joining by correlation id");
}

nlohmann::ordered_json measure_kineto(const Options& options) {
  const bench::TemporaryFolder folder("review-scale");
  const std::string path = folder.path("trace.json");
  const std::uint64_t steps = bench::write_kineto(path, options.kineto_bytes);
  nlohmann::ordered_json row = measure(fmt::format("kineto-{}-bytes", options.kineto_bytes), path, steps, options,
                                       "one core: looking at each byte of JSON in the page cache");
  if (!options.peer.empty()) run_peer(row, path, bench::counts_of_steps(steps), options, folder);
  return row;
}

void run(const Options& options) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const std::uint64_t count : options.rows) rows.push_back(measure_nsys(count, options));
  rows.push_back(measure_kineto(options));
  bench::write_result(bench::cpu_result("review-scale", options.commit, options.command, std::move(rows)), options.out);
}

}  // namespace
}  // namespace refrain

int main(int argc, char** argv) try {
  refrain::run(refrain::parse(argc, argv));
  return 0;
} catch (const refrain::Error& error) {
  std::cerr << error.what() << "\n";
  return 2;
}
