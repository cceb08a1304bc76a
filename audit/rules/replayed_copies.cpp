#include "audit/rules/replayed_copies.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "audit/rules/words.hpp"
#include "traces/graph_nodes.hpp"

namespace refrain {
namespace {

/// Copies of one node, or of one kind and size where the profiler does not tell nodes.
using CopyKey = std::tuple<std::uint64_t, MemorySpace, MemorySpace, std::uint64_t>;

struct ReplayedCopies {
  std::uint64_t count = 0;
  std::set<std::uint64_t> launches;
  std::map<CopyKey, const WorkEvent*> kinds;
};

bool is_pageable(const WorkEvent& work) {
  return work.kind == WorkKind::copy &&
         (work.space == MemorySpace::pageable || work.source_space == MemorySpace::pageable);
}

/// The launch that handed the work out; null where it is not known, or was another call.
const ApiEvent* launch_of(const Timeline& timeline, const WorkEvent& work) {
  const auto call =
      std::lower_bound(timeline.calls.begin(), timeline.calls.end(), work.call,
                       [](const ApiEvent& event, std::uint64_t wanted) { return event.sequence < wanted; });
  const bool found = call != timeline.calls.end() && call->sequence == work.call && call->api == Api::graph_launch;
  return found ? &*call : nullptr;
}

std::string range_name(const Timeline& timeline, const WorkEvent& work) {
  const GraphNodeEvent* node = find_graph_node(timeline, work.process, work.graph_node);
  const RangeEvent* range = node == nullptr ? nullptr : capture_range(timeline, *node);
  return range == nullptr ? std::string() : timeline.text(range->name);
}

void report_exec(const Timeline& timeline, std::uint64_t exec, const ReplayedCopies& copies, Report& report,
                 std::string_view rule) {
  constexpr std::size_t kShown = 4;
  Finding finding = new_finding(rule, Certainty::proven);
  finding.count = copies.count;
  finding.where = exec == 0 ? "replays of a graph exec" : fmt::format("replays of graph exec {}", exec & 0xffff'ffff);
  finding.message = fmt::format(
      "{} cop{} inside {} replay{} used pageable host memory: the host address is baked into the graph, every launch "
      "stalls to stage the bytes, and a replay touches whatever lies there by then",
      copies.count, copies.count == 1 ? "y" : "ies", copies.launches.size(), copies.launches.size() == 1 ? "" : "s");
  std::vector<std::string> names;
  for (const auto& [key, copy] : copies.kinds) {
    const std::string range = range_name(timeline, *copy);
    names.push_back(fmt::format("{} to {}{}", to_string(copy->source_space), to_string(copy->space),
                                range.empty() ? "" : ", captured in the range " + range));
    if (finding.evidence.size() < kShown)
      finding.evidence.push_back(fmt::format("{} bytes, {}", copy->bytes, names.back()));
  }
  if (copies.kinds.size() > kShown)
    finding.evidence.push_back(fmt::format("and {} more copies of the graph", copies.kinds.size() - kShown));
  finding.fix =
      "copy from or to pinned memory that lives as long as the graph (cudaMallocHost), or keep the data on the device";
  report.add(std::move(finding), names);
}

}  // namespace

void report_replayed_copies(const Recording& recording, Report& report, std::string_view rule) {
  const Timeline& timeline = recording.timeline;
  std::map<std::uint64_t, ReplayedCopies> execs;
  for (const WorkEvent& work : timeline.work) {
    if (!is_pageable(work)) continue;
    const ApiEvent* launch = launch_of(timeline, work);
    if (launch == nullptr) continue;
    ReplayedCopies& copies = execs[launch->object];
    ++copies.count;
    copies.launches.insert(launch->sequence);
    const bool node = work.graph_node != 0;
    copies.kinds.try_emplace({work.graph_node, work.source_space, work.space, node ? 0 : work.bytes}, &work);
  }
  for (const auto& [exec, copies] : execs) report_exec(timeline, exec, copies, report, rule);
}

}  // namespace refrain
