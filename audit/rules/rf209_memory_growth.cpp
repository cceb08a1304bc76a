// RF209: memory that a program takes in every step, or for every capture of one
// graph, and does not give back: by its allocations and frees, and by what
// cudaMemGetInfo told it. And memory that was allocated inside a capture which
// failed and is still held at the end. The first steps may allocate; only what
// grows to the very end counts.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "audit/captures.hpp"
#include "audit/graph_lives.hpp"
#include "audit/rules/checks.hpp"
#include "audit/rules/held_memory.hpp"
#include "audit/rules/words.hpp"

namespace refrain {
namespace {

// Rises in a row, up to the last cycle. Fewer are what a program does while it warms up.
constexpr std::size_t kGrowths = 4;

struct Sample {
  std::uint64_t live = 0;
  std::optional<std::uint64_t> free;  ///< as cudaMemGetInfo last said since the sample before
};

/// Ends of cycles that belong together: steps, or captures of one graph.
struct Cycles {
  std::string what;  ///< `steps`
  std::vector<std::uint64_t> ends;
  std::vector<Sample> samples;
};

std::vector<Cycles> cycles_of(const Recording& recording) {
  Cycles steps{"steps", {}, {}};
  for (const RangeEvent& range : recording.timeline.ranges)
    if (range.step) steps.ends.push_back(range.last);
  std::map<std::pair<std::string, std::string>, Cycles> captures;
  const std::vector<GraphLife> lives = lives_of(recording);
  for (std::size_t i = 0; i < lives.size(); ++i) {
    const Graph& graph = recording.graphs[i];
    if (!lives[i].tied || graph.name.empty()) continue;
    Cycles& cycles = captures[{graph.name, graph.capture.bucket}];
    cycles.what = fmt::format("captures of graph {}", graph.name);
    cycles.ends.push_back(lives[i].captured);
  }
  std::vector<Cycles> all;
  if (!steps.ends.empty()) all.push_back(std::move(steps));
  for (auto& [key, cycles] : captures) all.push_back(std::move(cycles));
  std::erase_if(all, [](const Cycles& cycles) { return cycles.ends.size() <= kGrowths; });
  for (Cycles& cycles : all) std::sort(cycles.ends.begin(), cycles.ends.end());
  return all;
}

void take_samples(const Timeline& timeline, Cycles& cycles) {
  HeldMemory memory;
  Sample sample;
  std::size_t next = 0;
  const auto close_until = [&](std::uint64_t sequence) {
    for (; next < cycles.ends.size() && cycles.ends[next] < sequence; ++next) {
      sample.live = memory.bytes();
      cycles.samples.push_back(sample);
      sample.free.reset();
    }
  };
  for (const ApiEvent& call : timeline.calls) {
    close_until(call.sequence);
    memory.follow(call);
    if (call.api == Api::mem_get_info && call.code == 0 && call.bytes > 0) sample.free = call.bytes;
  }
  close_until(~std::uint64_t{0});
}

/// How many samples, the last one included, are each worse than the one before.
template <class Worse>
std::size_t trailing(const std::vector<Sample>& samples, Worse worse) {
  std::size_t run = 0;
  for (std::size_t i = samples.size(); i-- > 1 && worse(samples[i - 1], samples[i]);) ++run;
  return run;
}

void report_growth(const Cycles& cycles, std::size_t rises, bool live, Report& report) {
  const Sample& last = cycles.samples.back();
  const Sample& first = cycles.samples[cycles.samples.size() - 1 - rises];
  const std::uint64_t grown = live ? last.live - first.live : *first.free - *last.free;
  Finding finding = new_finding("RF209", live ? Certainty::proven : Certainty::inferred);
  finding.count = rises;
  finding.where = fmt::format("the last {} of {} {}", rises, cycles.ends.size(), cycles.what);
  finding.message = fmt::format("{} after every one of them, by {} bytes in all: a server runs out of memory by and by",
                                live ? "live allocations are larger" : "free device memory is less", grown);
  finding.evidence.push_back(
      live ? fmt::format("{} bytes were live before them, {} after", first.live, last.live)
           : fmt::format("cudaMemGetInfo gave {} free bytes before them, {} after", *first.free, *last.free));
  finding.fix = cycles.what == "steps"
                    ? "free in the step what the step allocates, or allocate it once before"
                    : "destroy the graph and its graph exec before capturing again, and hand libraries "
                      "a workspace so that they allocate none for every capture";
  report.add(std::move(finding), std::vector<std::string>{cycles.what, live ? "live" : "free"});
}

void check_cycles(const Recording& recording, Report& report) {
  for (Cycles& cycles : cycles_of(recording)) {
    take_samples(recording.timeline, cycles);
    const std::size_t live = trailing(cycles.samples, [](const Sample& a, const Sample& b) { return b.live > a.live; });
    const std::size_t free = trailing(
        cycles.samples, [](const Sample& a, const Sample& b) { return a.free && b.free && *b.free < *a.free; });
    if (live >= kGrowths)
      report_growth(cycles, live, true, report);
    else if (free >= kGrowths)
      report_growth(cycles, free, false, report);
  }
}

void check_failed_captures(const Recording& recording, Report& report) {
  HeldMemory memory;
  for (const ApiEvent& call : recording.timeline.calls) memory.follow(call);
  const auto last = recording.timeline.calls.empty() ? 0 : recording.timeline.calls.back().sequence;
  for (const CaptureWindow& capture : captures_of(recording.timeline)) {
    // A recording that stops there does not show what is freed afterwards.
    if (capture.end == nullptr || capture.end->code == 0 || capture.end->sequence == last) continue;
    std::uint64_t bytes = 0, count = 0;
    for (const ApiEvent* call : capture.calls)
      if (call->thread == capture.thread && allocates(*call) && memory.holds(*call)) {
        bytes += call->bytes;
        ++count;
      }
    if (count == 0) continue;
    Finding finding = new_finding("RF209", Certainty::proven);
    finding.count = count;
    finding.where = fmt::format("capture {}, which failed", capture.id);
    finding.message = fmt::format(
        "{} allocation{} made inside the failed capture of stream {} ({} bytes) {} never freed: each attempt to "
        "capture "
        "again takes as much",
        count, count == 1 ? "" : "s", capture.stream, bytes, count == 1 ? "is" : "are");
    finding.fix = "let the pool of a capture go when the capture fails, before the next attempt";
    report.add(std::move(finding), std::vector<std::string>{"failed capture"});
  }
}

}  // namespace

void check_rf209(const SubjectView& view, Report& report) {
  if (!has_timelines(view, report, "RF209", "a graph alone does not show what is allocated from step to step")) return;
  for (const Recording* recording : view.timelines()) {
    check_cycles(*recording, report);
    check_failed_captures(*recording, report);
  }
}

}  // namespace refrain
