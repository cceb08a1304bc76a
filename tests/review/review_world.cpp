#include "tests/review/review_world.hpp"

#include <algorithm>

namespace refrain::test {
namespace {

constexpr std::uint64_t kUs = 1000;
constexpr std::uint64_t kRecordsOfStep = 5;

class World {
 public:
  explicit World(const ReviewShape& shape) : shape_(shape) {
    Recording recording;
    recording.name = shape.input;
    recording.has_timeline = true;
    review_.subject.recordings.push_back(std::move(recording));
  }

  Review run() {
    Interner names(timeline());
    for (std::size_t number = 1; number <= shape_.steps; ++number) add_step(names, number);
    review_.cut = {StepBasis::named_range, "ranges named decode number their steps", shape_.steps};
    review_.totals = total(review_.steps);
    review_.report.inputs = {shape_.input};
    if (shape_.findings && shape_.steps > 0) add_findings();
    review_.report.not_checked("RF401", "no history, <none>");
    return std::move(review_);
  }

 private:
  Timeline& timeline() { return review_.subject.recordings.front().timeline; }

  std::uint64_t call(Api api, std::uint64_t start, std::uint64_t end, std::uint64_t bytes = 0, StringId detail = 0) {
    ApiEvent event;
    event.sequence = ++sequence_;
    event.start_ns = start;
    event.end_ns = end;
    event.thread = 1;
    event.api = api;
    event.stream = 7;
    event.bytes = bytes;
    event.detail = detail;
    timeline().calls.push_back(event);
    return event.sequence;
  }

  WorkEvent& work(WorkKind kind, StringId name, std::uint64_t start, std::uint64_t end, std::uint64_t of,
                  std::uint32_t stream) {
    WorkEvent event;
    event.kind = kind;
    event.name = name;
    event.start_ns = start;
    event.end_ns = end;
    event.call = of;
    event.process = 1;
    event.stream = stream;
    timeline().work.push_back(event);
    return timeline().work.back();
  }

  // copy 20-40 us, replay 50-60, kernel 70-75, query 80-81, sync 100 to 20 us before the end.
  void add_step(Interner& names, std::size_t number) {
    const std::uint64_t t = step_start(number), end = t + (number == worst_step(shape_) ? kWorstTakes : kStepTakes);
    const std::uint64_t first = sequence_ + 1;
    const StringId kernel = names.id("eager_kernel");
    const std::uint64_t copy = call(Api::memcpy_async_h2d_pageable, t + 20 * kUs, t + 40 * kUs, 4096);
    const std::uint64_t replay = call(Api::graph_launch, t + 50 * kUs, t + 60 * kUs);
    const std::uint64_t launch = call(Api::launch_kernel, t + 70 * kUs, t + 75 * kUs, 0, kernel);
    call(Api::stream_query, t + 80 * kUs, t + 81 * kUs);
    call(Api::stream_synchronize, t + 100 * kUs, end - 20 * kUs);
    const StringId name = names.id(shape_.name + "_step_" + std::to_string(number));
    timeline().ranges.push_back({first, sequence_, t + 10 * kUs, t + 90 * kUs, 1, names.id("forward"), false});
    timeline().ranges.push_back({first, sequence_, t, end, 1, name, true});
    StepStats stats = stats_of(t, end, first);
    stats.name = name;
    if (shape_.device) add_work(names, stats, {copy, replay, launch}, kernel);
    review_.steps.push_back(stats);
  }

  StepStats stats_of(std::uint64_t start, std::uint64_t end, std::uint64_t first) {
    StepStats stats;
    stats.thread = 1;
    stats.first = first;
    stats.last = sequence_;
    stats.start_ns = start;
    stats.end_ns = end;
    stats.replays = stats.eager_launches = stats.syncs = stats.queries = 1;
    stats.copies[static_cast<std::size_t>(CopyClass::h2d_pageable)] = {1, 4096};
    stats.host_wait_ns = end - start - 120 * kUs;
    return stats;
  }

  struct Launches {
    std::uint64_t copy, replay, kernel;
  };
  // Copy 30-38 us, then nodes of 10 us, 1 us between, from 65 us on, then 5 us of the eager kernel.
  void add_work(Interner& names, StepStats& stats, const Launches& from, StringId kernel) {
    const std::uint64_t t = stats.start_ns;
    WorkEvent& copy = work(WorkKind::copy, names.id("HtoD"), t + 30 * kUs, t + 38 * kUs, from.copy, 7);
    copy.bytes = 4096;
    copy.direction = CopyDirection::h2d;
    copy.source_space = MemorySpace::pageable;
    copy.space = MemorySpace::device;
    std::uint64_t at = t + 65 * kUs;
    for (std::size_t i = 0; i < shape_.nodes; ++i, at += 11 * kUs)
      work(WorkKind::kernel, names.id("node_" + std::to_string(i)), at, at + 10 * kUs, from.replay,
           static_cast<std::uint32_t>(7 + i % shape_.streams))
          .graph_node = i + 1;
    work(WorkKind::kernel, kernel, at, at + 5 * kUs, from.kernel, 7);
    stats.replayed_nodes = shape_.nodes;
    stats.gpu_busy_ns = (8 + 10 * shape_.nodes + 5) * kUs;
    stats.device_start_ns = t + 30 * kUs;
    stats.device_end_ns = at + 5 * kUs;
    stats.gpu_idle_ns = *stats.device_end_ns - *stats.device_start_ns - *stats.gpu_busy_ns;
    stats.launch_gap_ns = 15 * kUs;
  }

  void add_findings() {
    Finding copy;
    copy.rule = "RF103";
    copy.where = "step, cudaMemcpyAsync";
    copy.message = "a copy from pageable memory, \"4,096 bytes\"; it waits";
    copy.fix = "copy from pinned memory";
    copy.evidence = {"the copy of " + shape_.name};
    copy.certainty = Certainty::inferred;
    copy.step = worst_step(shape_);
    copy.call = copy_of(*copy.step);
    review_.report.add(copy, {});
    Finding sync = copy;
    sync.rule = "RF102";
    sync.where = "step, cudaStreamSynchronize";
    sync.step = std::min<std::size_t>(2, shape_.steps);
    sync.call = copy_of(*sync.step) + 4;
    review_.report.add(sync, {});
    Finding limit = copy;
    limit.rule = "RF801";
    limit.where = "the whole trace";
    limit.call.reset();
    limit.step.reset();
    review_.report.add(limit, {});
  }

  const ReviewShape& shape_;
  Review review_;
  std::uint64_t sequence_ = 0;
};

}  // namespace

std::size_t worst_step(const ReviewShape& shape) {
  return std::min<std::size_t>(3, shape.steps);
}

std::uint64_t step_start(std::size_t number) {
  return number * kStepEvery;
}

std::uint64_t copy_of(std::size_t number) {
  return (number - 1) * kRecordsOfStep + 1;
}

Review make_review(const ReviewShape& shape) {
  return World(shape).run();
}

}  // namespace refrain::test
