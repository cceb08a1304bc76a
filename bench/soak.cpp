// Many replays of one captured step while its tables change under it: a graph
// that was captured once must serve every length, row count and page table, take
// no memory, and give the bits of the eager run. Before each replay the next
// variant's tables are copied from pinned memory on the step's own stream. Exit
// code 1 when an output differed. Writes refrain.bench/1.
//   bench_soak [--replays N] [--every N] [--steps A,B] [--engine-steps N]
//              [--device cuda|host] [--out FILE] [--commit HASH]
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <numeric>
#include <set>

#include "bench/driver_bench.hpp"
#include "bench/soak_engine.hpp"
#include "bench/soak_variants.hpp"
#include "graphs/error.hpp"
#include "runtime/output.hpp"
#include "runtime/session.hpp"
#include "runtime/steps/attention/attention_step.hpp"

namespace refrain::bench {
namespace {

constexpr std::int64_t kBurst = 16;  ///< replays after a drained stream that no full queue can hold up
constexpr std::size_t kLeastVariants = 16;
constexpr std::int64_t kEngineEvery =
    4'999;  ///< served steps between two that are compared; prime, to meet every phase

struct Plan {
  std::int64_t replays, every;
};

StepOptions options_of(StepKind step) {
  StepOptions o;
  o.step = step;
  o.rows = 19;
  o.requests = 3;
  o.context = 2051;
  o.page_size = 32;
  o.kv = Dtype::e4m3;
  return o;
}

/// Prime to `every`, so that the compared replays go through all variants.
std::size_t variant_count(std::int64_t every) {
  std::size_t count = kLeastVariants;
  while (std::gcd(count, static_cast<std::size_t>(every)) != 1) ++count;
  return count;
}

double us_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count();
}

/// Both steps that soak knows are attention steps.
const AttentionStep& attention_of(const Session& session) {
  return dynamic_cast<const AttentionStep&>(*session.step);
}

class Soak {
 public:
  Soak(Session& session, const Captured& captured, const Plan& plan)
      : s_(session),
        plan_(plan),
        nodes_(captured.graph.nodes.size()),
        exec_(session.driver, session.arena, captured, session.stream),
        variants_(session.driver, attention_of(session).buffers(), variant_count(plan.every)) {}

  nlohmann::ordered_json run() {
    warm_up();
    const std::uint64_t device_before = free_memory();
    const std::int64_t host_before = resident_bytes();
    std::uint64_t device_least = device_before;
    std::int64_t host_most = host_before;
    while (done_ < plan_.replays) {
      replay_some(std::min(plan_.every, plan_.replays - done_));
      compare();
      device_least = std::min(device_least, free_memory());
      host_most = std::max(host_most, resident_bytes());
    }
    nlohmann::ordered_json row = result();
    if (device_before != 0) row["device_memory_growth_bytes"] = device_before - device_least;
    row["host_memory_growth_bytes"] = host_most - host_before;
    return row;
  }

 private:
  [[nodiscard]] std::size_t variant_of(std::int64_t replay) const {
    return static_cast<std::size_t>(replay) % variants_.size();
  }

  void wait() { check(s_.driver.synchronize(s_.stream), "cudaStreamSynchronize"); }

  [[nodiscard]] std::uint64_t free_memory() {
    std::uint64_t bytes = 0;
    check(s_.driver.free_memory(bytes), "cudaMemGetInfo");
    return bytes;
  }

  void replay(std::size_t variant) {
    variants_.write(variant, s_.stream);
    exec_.launch(s_.stream);
  }

  /// Code is loaded at its first launch, eager or not, and takes memory then.
  void warm_up() {
    replay(0);
    wait();
    (void)replayed_and_eager();
  }

  void replay_some(std::int64_t count) {
    const auto start = std::chrono::steady_clock::now();
    const std::int64_t burst = std::min(count, kBurst), end = done_ + count;
    for (std::int64_t i = 0; i < burst; ++i) replay(variant_of(done_++));
    enqueue_us_.push_back(us_since(start) / static_cast<double>(burst));
    while (done_ < end) replay(variant_of(done_++));
    wait();
    replay_us_.push_back(us_since(start) / static_cast<double>(count));
  }

  /// What the last replay left, and what an eager run gives of the same tables: an eager run that wrote nothing would
  /// leave the bytes that the output is filled with in between.
  std::pair<Output, Output> replayed_and_eager() {
    const std::vector<OutputTensor> tensors = s_.step->outputs();
    Output replayed = read_output(s_.driver, tensors);
    for (const OutputTensor& tensor : tensors)
      check(s_.driver.fill(tensor.address, 0xFF, tensor.bytes(), s_.stream), "cudaMemsetAsync");
    Recorder recorder(s_.driver, s_.registry, s_.stream);
    s_.step->record(recorder);
    wait();
    return {std::move(replayed), read_output(s_.driver, tensors)};
  }

  void compare() {
    const auto [replayed, eager] = replayed_and_eager();
    ++compared_;
    seen_.insert(variant_of(done_ - 1));
    if (!same_bits(replayed, eager)) ++mismatches_;
    if (!all_finite(replayed)) ++nonfinite_;
  }

  [[nodiscard]] std::string limited_by(double replay, double enqueue) const {
    if (s_.driver.device().kind == "host") return "the host driver: the kernels' twins, on one core";
    const std::string work = fmt::format("{} copies and one graph launch", variants_.tables());
    if (enqueue >= 0.9 * replay)
      return fmt::format("the host: {} take {:.1f} us to enqueue of {:.1f} us a replay", work, enqueue, replay);
    return fmt::format("the device: {} nodes in a chain behind the copies; {} are enqueued in {:.1f} of {:.1f} us",
                       nodes_, work, enqueue, replay);
  }

  [[nodiscard]] nlohmann::ordered_json result() const {
    const StepOptions& o = s_.step->options();
    const Times replay = times_of(replay_us_), enqueue = times_of(enqueue_us_);
    return {{"case", fmt::format("{}-rows-{}-context-{}", to_string(o.step), o.rows, o.context)},
            {"replays", done_},
            {"compared", compared_},
            {"mismatches", mismatches_},
            {"nonfinite", nonfinite_},
            {"variants", variants_.size()},
            {"variants_compared", seen_.size()},
            {"device_memory_growth_bytes", nullptr},
            {"host_memory_growth_bytes", nullptr},
            {"replay_us", replay.median_us},
            {"replay_us_min", replay.min_us},
            {"replay_us_max", replay.max_us},
            {"enqueue_us", enqueue.median_us},
            {"enqueue_us_min", enqueue.min_us},
            {"enqueue_us_max", enqueue.max_us},
            {"limited_by", limited_by(replay.median_us, enqueue.median_us)}};
  }

  Session& s_;
  Plan plan_;
  std::size_t nodes_;
  GraphExec exec_;
  Variants variants_;
  std::int64_t done_ = 0, compared_ = 0, mismatches_ = 0, nonfinite_ = 0;
  std::set<std::size_t> seen_;
  std::vector<double> replay_us_, enqueue_us_;  // means of the replays between two comparisons, and of their bursts
};

nlohmann::ordered_json soak(Driver& driver, StepKind step, const Plan& plan) {
  Session session(driver, options_of(step));
  Recorder recorder(session.driver, session.registry, session.stream);
  std::string error;
  const std::optional<Captured> captured = session.capture(recorder, error);
  if (!captured) throw Error(ErrorKind::driver, "capture", error, to_string(step));
  session.driver.pause();
  return Soak(session, *captured, plan).run();
}

std::vector<StepKind> steps_of(const Arguments& arguments) {
  std::vector<StepKind> steps;
  std::string names = arguments.text("--steps", "grouped_prefill,xqa_decode") + ",";
  for (std::size_t comma = 0; (comma = names.find(',')) != std::string::npos; names.erase(0, comma + 1)) {
    const std::string name = names.substr(0, comma);
    if (name == to_string(StepKind::grouped))
      steps.push_back(StepKind::grouped);
    else if (name == to_string(StepKind::xqa))
      steps.push_back(StepKind::xqa);
    else
      throw Error(ErrorKind::usage, "--steps", fmt::format("no step \"{}\"", name), "bench_soak");
  }
  return steps;
}

int run(const Arguments& arguments) {
  const Plan plan{arguments.number("--replays", 100'000, 1), arguments.number("--every", 1'000, 1)};
  const std::vector<StepKind> steps = steps_of(arguments);
  const std::unique_ptr<Driver> driver = open_driver(arguments);
  if (!driver) return kSkipped;
  nlohmann::ordered_json json = driver_frame("soak", arguments, *driver);
  bool equal = true;
  for (const StepKind step : steps) {
    const auto& row = json["rows"].emplace_back(soak(*driver, step, plan));
    equal = equal && row["mismatches"] == 0;
    std::cerr << fmt::format("{:36} {} replays, {} compared, {} mismatches, {:.1f} us a replay\n",
                             row["case"].get<std::string>(), row["replays"].get<int>(), row["compared"].get<int>(),
                             row["mismatches"].get<int>(), row["replay_us"].get<double>());
  }
  if (const std::int64_t served = arguments.number("--engine-steps", 1'000'000, 0); served > 0) {
    const auto& row = json["rows"].emplace_back(soak_engine(*driver, served, kEngineEvery));
    equal = equal && row["mismatches"] == 0 && row["fallbacks"] == 0 && row["calls_beside_launches"] == 0;
    std::cerr << row.dump() << "\n";
  }
  write_result(json, arguments.text("--out", ""));
  return equal ? 0 : 1;
}

}  // namespace
}  // namespace refrain::bench

int main(int argc, char** argv) try {
  return refrain::bench::run({argc, argv, "bench_soak", {"--replays", "--every", "--steps", "--engine-steps"}});
} catch (const refrain::Error& error) {
  std::cerr << error.what() << "\n";
  return 2;
}
