#include "bench/launch_ring.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cstring>
#include <optional>
#include <span>
#include <vector>

#include "bench/driver_bench.hpp"
#include "graphs/error.hpp"
#include "runtime/session.hpp"
#include "runtime/step_ring.hpp"
#include "runtime/steps/attention/attention_step.hpp"

namespace refrain::bench {
namespace {

constexpr std::uint32_t kDepth = 4;
constexpr std::int64_t kWarmUp = 100;

StepOptions options_of(std::int32_t rows) {
  StepOptions o;
  o.step = StepKind::xqa;
  o.rows = rows;
  o.requests = rows;
  o.context = 512;
  return o;
}

/// One input: where the graph reads it, and this step's bytes.
struct Input {
  Address device;
  std::span<const std::byte> bytes;
};

template <class T>
Input input(const Lease& lease, const std::vector<T>& values) {
  return {lease.address(), std::as_bytes(std::span(values))};
}

std::vector<Input> inputs_of(const AttentionStep& step) {
  const AttentionBuffers& b = step.buffers();
  const AttentionInputs& in = step.inputs();
  return {input(b.rows, in.rows),
          input(b.token_to_req, in.token_to_req),
          input(b.query_pos, in.query_pos),
          input(b.seq_len, in.seq_len),
          input(b.page_table, in.page_table),
          input(b.selected, in.selected),
          input(b.q, in.q),
          input(b.k, in.k),
          input(b.v, in.v)};
}

std::vector<RingField> fields_of(const std::vector<Input>& inputs) {
  std::vector<RingField> fields;
  for (const Input& in : inputs)
    fields.push_back({reinterpret_cast<std::byte*>(in.device), 0, in.bytes.size(), Role::input, Dtype::unknown});
  return fields;
}

std::vector<RingField> fields_of(const std::vector<OutputTensor>& outputs) {
  std::vector<RingField> fields;
  for (const OutputTensor& out : outputs)
    fields.push_back({reinterpret_cast<std::byte*>(out.address), 0, out.bytes(), Role::output, out.dtype});
  return fields;
}

/// Pinned memory for every input and output of the way with copies.
class Staging {
 public:
  Staging(Driver& driver, const std::vector<Input>& inputs, const std::vector<OutputTensor>& outputs)
      : driver_(driver), inputs_(inputs), outputs_(outputs) {
    for (const Input& in : inputs_) bytes_ += (in.bytes.size() + 15) / 16 * 16;
    for (const OutputTensor& out : outputs_) bytes_ += (out.bytes() + 15) / 16 * 16;
    check(driver_.allocate(bytes_, MemorySpace::pinned, memory_), "cudaMallocHost");
  }
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;
  ~Staging() { (void)driver_.release(memory_, MemorySpace::pinned); }

  void send(Stream stream) {
    Address at = memory_;
    for (const Input& in : inputs_) {
      std::memcpy(reinterpret_cast<void*>(at), in.bytes.data(), in.bytes.size());
      check(driver_.copy({in.device, MemorySpace::device}, {at, MemorySpace::pinned}, in.bytes.size(), stream),
            "cudaMemcpyAsync");
      at += (in.bytes.size() + 15) / 16 * 16;
    }
    results_ = at;
  }
  void receive(Stream stream) {
    Address at = results_;
    for (const OutputTensor& out : outputs_) {
      check(driver_.copy({at, MemorySpace::pinned}, {out.address, MemorySpace::device}, out.bytes(), stream),
            "cudaMemcpyAsync");
      at += (out.bytes() + 15) / 16 * 16;
    }
  }
  [[nodiscard]] const void* first_result() const { return reinterpret_cast<const void*>(results_); }

 private:
  Driver& driver_;
  const std::vector<Input>& inputs_;
  const std::vector<OutputTensor>& outputs_;
  std::uint64_t bytes_ = 0;
  Address memory_ = 0, results_ = 0;
};

Captured capture(Recorder& recorder, const Step& step, const StepRing* ring) {
  CaptureScope scope(recorder, CaptureMode::thread_local_);
  if (ring != nullptr) ring->record_take(recorder);
  step.record(recorder);
  if (ring != nullptr) ring->record_give(recorder);
  return scope.finish(ring != nullptr ? "ringed" : "plain", {});
}

class Ways {
 public:
  Ways(Driver& driver, std::int32_t rows)
      : s_(driver, options_of(rows)),
        step_(dynamic_cast<const AttentionStep&>(*s_.step)),
        inputs_(inputs_of(step_)),
        outputs_(step_.outputs()),
        driver_(driver),
        arena_(s_.driver, s_.registry, 4096),
        ring_(s_.driver, s_.registry, arena_, fields_of(inputs_), fields_of(outputs_), kDepth),
        staging_(driver, inputs_, outputs_),
        recorder_(s_.driver, s_.registry, s_.stream) {
    step_.prepare(recorder_);
    ring_.prepare(recorder_);
    const Captured ringed = capture(recorder_, step_, &ring_), plain = capture(recorder_, step_, nullptr);
    ringed_nodes = ringed.graph.nodes.size();
    // On the bare driver: recording is no part of either way.
    ringed_.emplace(driver_, s_.arena, ringed, s_.stream);
    plain_.emplace(driver_, s_.arena, plain, s_.stream);
    check(driver_.synchronize(s_.stream), "cudaStreamSynchronize");
  }

  void through_ring() {
    for (std::size_t i = 0; i < inputs_.size(); ++i)
      std::memcpy(ring_.input(i).data(), inputs_[i].bytes.data(), inputs_[i].bytes.size());
    ringed_->launch(s_.stream);
    ring_.issued();
    ++steps_;
    while (ring_.completed() < steps_) {
    }
  }

  void through_copies() {
    staging_.send(s_.stream);
    plain_->launch(s_.stream);
    staging_.receive(s_.stream);
    check(driver_.synchronize(s_.stream), "cudaStreamSynchronize");
  }

  void require_equal() {
    through_ring();
    const auto ringed = ring_.result(steps_ - 1, 0);
    const std::vector<std::byte> kept(ringed.begin(), ringed.end());
    through_copies();
    if (std::memcmp(kept.data(), staging_.first_result(), kept.size()) != 0)
      throw Error(ErrorKind::refused, "ring", "results through the ring and through copies differ", "bench_launch");
  }

  std::size_t ringed_nodes = 0;

 private:
  Session s_;
  const AttentionStep& step_;
  std::vector<Input> inputs_;
  std::vector<OutputTensor> outputs_;
  Driver& driver_;
  Arena arena_;
  StepRing ring_;
  Staging staging_;
  Recorder recorder_;
  std::optional<GraphExec> ringed_, plain_;
  std::uint64_t steps_ = 0;
};

template <class Way>
double time_one(Way way) {
  const auto start = std::chrono::steady_clock::now();
  way();
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

nlohmann::ordered_json measure_ring(Driver& driver, std::int32_t rows, std::int64_t steps) {
  Ways ways(driver, rows);
  ways.require_equal();
  std::vector<double> ring, copies;
  for (std::int64_t i = -kWarmUp; i < steps; ++i) {
    const double a = time_one([&] { ways.through_ring(); }), b = time_one([&] { ways.through_copies(); });
    if (i < 0) continue;
    ring.push_back(a);
    copies.push_back(b);
  }
  const Times ringed = times_of(ring), copied = times_of(copies);
  return {
      {"case", fmt::format("xqa_decode-rows-{}-inputs-to-results", rows)},
      {"nodes", ways.ringed_nodes},
      {"calls_a_step", 1},
      {"steps", ring.size()},
      {"step_us", ringed.median_us},
      {"step_us_min", ringed.min_us},
      {"step_us_max", ringed.max_us},
      {"copies_step_us", copied.median_us},
      {"copies_step_us_min", copied.min_us},
      {"copies_step_us_max", copied.max_us},
      {"step_over_copies_ratio", ringed.median_us / copied.median_us},
      {"limited_by", "the chain of the step's own nodes, and two trips over the bus: the slot's inputs and results"}};
}

}  // namespace refrain::bench
