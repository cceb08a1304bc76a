// What one serving step costs the host once it is a graph: the calls that are
// made between a step's start and its end, counted in a recording of it, and the
// host time of that one launch over the launch of a bare graph of as many empty
// kernels in the same chain. Each is timed launch by launch, in turn, on a stream
// that is drained before its queue can block. And a whole step, from inputs to
// results on the host, through the mapped ring and through copies. Writes
// refrain.bench/1.
//   bench_launch [--launches N] [--device cuda|host] [--out FILE] [--commit HASH]
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <iostream>

#include "bench/driver_bench.hpp"
#include "bench/launch_ring.hpp"
#include "graphs/error.hpp"
#include "runtime/session.hpp"

namespace refrain::bench {
namespace {

constexpr std::int64_t kBurst = 32;  ///< launches between two drains
constexpr std::size_t kBlocks = 11;  ///< a ratio is one of two medians of a block: their median, least and most

struct Case {
  StepKind step;
  std::int32_t rows;
};
constexpr std::array kCases = {Case{StepKind::grouped, 19}, Case{StepKind::xqa, 1}, Case{StepKind::xqa, 8},
                               Case{StepKind::xqa, 19}, Case{StepKind::xqa, 64}};

StepOptions options_of(const Case& c) {
  StepOptions o;
  o.step = c.step;
  o.rows = c.rows;
  o.requests = std::min(c.rows, 3);
  o.context = 512;
  return o;
}

/// A step is one chain today; a bare graph of another topology would be no peer.
void require_chain(const Graph& graph) {
  std::vector<int> in(graph.nodes.size()), out(graph.nodes.size());
  for (const Edge& edge : graph.edges) ++in[edge.to], ++out[edge.from];
  const bool simple = std::all_of(in.begin(), in.end(), [](int n) { return n <= 1; }) &&
                      std::all_of(out.begin(), out.end(), [](int n) { return n <= 1; });
  if (!simple || graph.edges.size() + 1 != graph.nodes.size())
    throw Error(ErrorKind::refused, graph.name, "the step is no chain, so a chain of empty kernels is no peer", "");
}

/// A chain of `nodes` empty kernels, instantiated and uploaded.
class BareExec {
 public:
  BareExec(Driver& driver, Stream stream, std::size_t nodes) : driver_(driver) {
    const OpLaunch empty{"empty", {}, {}};
    GraphHandle graph;
    check(driver.begin_capture(stream, CaptureMode::thread_local_), "cudaStreamBeginCapture");
    Status launched = Status::success;
    for (std::size_t i = 0; i < nodes && launched == Status::success; ++i) launched = driver.launch(empty, stream);
    const Status ended = driver.end_capture(stream, graph);
    check(launched, "an empty kernel");
    check(ended, "cudaStreamEndCapture");
    const Status made = driver.instantiate(graph, exec_);
    (void)driver.destroy(graph);
    check(made, "cudaGraphInstantiate");
  }
  BareExec(const BareExec&) = delete;
  BareExec& operator=(const BareExec&) = delete;
  ~BareExec() { (void)driver_.destroy(exec_); }

  void upload(Stream stream) { check(driver_.upload(exec_, stream), "cudaGraphUpload"); }
  void launch(Stream stream) { check(driver_.launch(exec_, stream), "cudaGraphLaunch"); }

 private:
  Driver& driver_;
  ExecHandle exec_;
};

void drain(Driver& driver, Stream stream) {
  check(driver.synchronize(stream), "cudaStreamSynchronize");
}

/// Calls of a step in which a graph is launched and nothing else is done, by the recording of it.
std::int64_t calls_a_step(Session& s, GraphExec& exec) {
  {
    const auto step = s.driver.step(to_string(s.step->options().step));
    exec.launch(s.stream);
  }
  drain(s.driver, s.stream);
  const Recording recording = s.recording();
  const RangeEvent& range = recording.timeline.ranges.back();
  std::int64_t calls = 0;
  for (const ApiEvent& call : recording.timeline.calls) {
    if (call.sequence < range.first || call.sequence > range.last) continue;
    ++calls;
    if (call.api != Api::graph_launch)
      throw Error(ErrorKind::refused, recording.timeline.text(range.name),
                  fmt::format("{} between its start and its end", to_string(call.api)), "bench_launch");
  }
  return calls;
}

/// Host microseconds of each of kBurst launches; the stream is empty before and after.
template <class Exec>
void time_burst(Driver& driver, Stream stream, Exec& exec, std::vector<double>& samples) {
  for (std::int64_t i = 0; i < kBurst; ++i) {
    const auto start = std::chrono::steady_clock::now();
    exec.launch(stream);
    const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - start;
    samples.push_back(took.count());
  }
  drain(driver, stream);
}

/// Samples of one kind of launch, and the median of each block.
struct Samples {
  std::vector<double> all, medians;
  void end_block(std::vector<double> block) {
    medians.push_back(times_of(block).median_us);
    all.insert(all.end(), block.begin(), block.end());
  }
};

struct Measured {
  Samples plain, recorded, bare;
};

Measured measure(Driver& driver, Stream stream, GraphExec& plain, GraphExec& recorded, BareExec& bare,
                 std::int64_t launches) {
  const std::int64_t bursts =
      (launches + kBurst * static_cast<std::int64_t>(kBlocks) - 1) / (kBurst * static_cast<std::int64_t>(kBlocks));
  Measured measured;
  for (std::size_t block = 0; block <= kBlocks; ++block) {
    std::array<std::vector<double>, 3> samples;
    for (std::int64_t i = 0; i < bursts; ++i)
      for (std::int64_t turn = 0; turn < 3; ++turn) {  // in turn, forwards and then backwards
        const std::int64_t kind = i % 2 == 0 ? turn : 2 - turn;
        if (kind == 0) time_burst(driver, stream, plain, samples[0]);
        if (kind == 1) time_burst(driver, stream, recorded, samples[1]);
        if (kind == 2) time_burst(driver, stream, bare, samples[2]);
      }
    if (block == 0) continue;  // to warm up
    measured.plain.end_block(std::move(samples[0]));
    measured.recorded.end_block(std::move(samples[1]));
    measured.bare.end_block(std::move(samples[2]));
  }
  return measured;
}

void add_times(nlohmann::ordered_json& row, const std::string& name, const Samples& samples) {
  const Times times = times_of(samples.all);
  row[name] = times.median_us;
  row[name + "_min"] = times.min_us;
  row[name + "_max"] = times.max_us;
}

void add_ratio(nlohmann::ordered_json& row, const std::string& name, const Samples& ours, const Samples& bare) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < ours.medians.size(); ++i) ratios.push_back(ours.medians[i] / bare.medians[i]);
  std::sort(ratios.begin(), ratios.end());
  row[name] = ratios[ratios.size() / 2];
  row[name + "_min"] = ratios.front();
  row[name + "_max"] = ratios.back();
}

nlohmann::ordered_json kinds_of(const Graph& graph) {
  nlohmann::ordered_json kinds = nlohmann::ordered_json::object();
  for (const Node& node : graph.nodes) kinds[to_string(node.kind)] = kinds.value(to_string(node.kind), 0) + 1;
  return kinds;
}

nlohmann::ordered_json measure(Driver& driver, const Case& c, std::int64_t launches) {
  Session s(driver, options_of(c));
  Recorder recorder(s.driver, s.registry, s.stream);
  std::string error;
  const std::optional<Captured> captured = s.capture(recorder, error);
  if (!captured) throw Error(ErrorKind::driver, "capture", error, to_string(c.step));
  require_chain(captured->graph);
  const std::size_t nodes = captured->graph.nodes.size();
  GraphExec recorded(s.driver, s.arena, *captured, s.stream), plain(driver, s.arena, *captured, s.stream);
  BareExec bare(driver, s.stream, nodes);
  bare.upload(s.stream);
  drain(driver, s.stream);
  nlohmann::ordered_json row = {{"case", fmt::format("{}-rows-{}", to_string(c.step), c.rows)},
                                {"nodes", nodes},
                                {"kinds", kinds_of(captured->graph)},
                                {"calls_a_step", calls_a_step(s, recorded)}};
  const Measured m = measure(driver, s.stream, plain, recorded, bare, launches);
  row["launches"] = m.plain.all.size();
  add_times(row, "host_us", m.plain);
  add_times(row, "recorded_host_us", m.recorded);
  add_times(row, "bare_us", m.bare);
  add_ratio(row, "host_over_bare_launch_ratio", m.plain, m.bare);
  add_ratio(row, "recorded_over_bare_launch_ratio", m.recorded, m.bare);
  row["limited_by"] = driver.device().kind == "host"
                          ? std::string("the host driver: a launch runs the kernels' twins")
                          : fmt::format("the CUDA driver: {:.2f} of {:.2f} us are the launch of {} empty nodes",
                                        row["bare_us"].get<double>(), row["host_us"].get<double>(), nodes);
  return row;
}

int run(const Arguments& arguments) {
  const std::int64_t launches = arguments.number("--launches", 3'500, 1);
  const std::unique_ptr<Driver> driver = open_driver(arguments);
  if (!driver) return kSkipped;
  nlohmann::ordered_json json = driver_frame("launch", arguments, *driver);
  bool one_call = true;
  for (const Case& c : kCases) {
    const auto& row = json["rows"].emplace_back(measure(*driver, c, launches));
    one_call = one_call && row["calls_a_step"] == 1;
    std::cerr << fmt::format("{:24} {} call a step, {:.2f} us of the host, bare {:.2f} us, ratio {:.3f}\n",
                             row["case"].get<std::string>(), row["calls_a_step"].get<int>(),
                             row["host_us"].get<double>(), row["bare_us"].get<double>(),
                             row["host_over_bare_launch_ratio"].get<double>());
  }
  for (const std::int32_t rows : {1, 8, 64}) {
    const auto& row = json["rows"].emplace_back(measure_ring(*driver, rows, launches));
    std::cerr << fmt::format("{:34} {:.1f} us through the ring, {:.1f} us with copies and a synchronize\n",
                             row["case"].get<std::string>(), row["step_us"].get<double>(),
                             row["copies_step_us"].get<double>());
  }
  write_result(json, arguments.text("--out", ""));
  return one_call ? 0 : 1;
}

}  // namespace
}  // namespace refrain::bench

int main(int argc, char** argv) try {
  return refrain::bench::run({argc, argv, "bench_launch", {"--launches"}});
} catch (const refrain::Error& error) {
  std::cerr << error.what() << "\n";
  return 2;
}
