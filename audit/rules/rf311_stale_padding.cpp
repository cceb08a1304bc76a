// RF311: a replay reads more of an input than the host wrote for it, and the rest is
// left from an earlier step. It is seen in a graph's entry facts, or on a timeline
// when the copies before a launch cover less than those before an earlier one. An
// input that is not written at all before a launch is rule 409's.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "audit/captures.hpp"
#include "audit/graph_lives.hpp"
#include "audit/range_set.hpp"
#include "audit/rules/checks.hpp"
#include "audit/rules/padding.hpp"
#include "audit/rules/words.hpp"

namespace refrain {
namespace {

std::string list_ranges(const std::vector<ByteRange>& ranges) {
  std::vector<std::string> texts;
  for (const ByteRange& range : ranges) texts.push_back(bytes_of(range));
  return list_names(texts);
}

void add(const GraphView& view, BufferId buffer, Finding finding, std::vector<NodeId> readers, Report& report) {
  const Graph& graph = view.graph();
  const std::string name = name_of(graph, buffer);
  finding.where = place(view, readers, {name});
  finding.fix = fmt::format(
      "write the whole padded range of {} before every launch, with a harmless value behind the real "
      "rows, or let the graph's first node clear it",
      name);
  std::vector<std::string> names = {name};
  for (const NodeId node : readers) names.push_back(name_of(graph.nodes[node]));
  finding.nodes = std::move(readers);
  report.add(std::move(finding), names);
}

void report_entry(const GraphView& view, const StaleInput& input, Report& report) {
  const Graph& graph = view.graph();
  Finding finding = new_finding("RF311", view, Certainty::contract);
  finding.message = fmt::format(
      "{} reads {} of {}, and the host writes {} before every launch: the rest keeps the values of an earlier step",
      describe(graph, input.readers.front()), list_ranges(input.stale), name_of(graph, input.buffer),
      list_ranges(input.refreshed));
  finding.evidence.push_back(input.origin.empty()
                                 ? std::string("nothing is said to write the rest, not even once")
                                 : fmt::format("the rest rests on {}, before the first replay", input.origin));
  add(view, input.buffer, std::move(finding), input.readers, report);
}

/// What a graph reads of one of its inputs.
struct Reads {
  RangeSet bytes;
  std::vector<NodeId> nodes;
};

std::map<BufferId, Reads> input_reads(const Graph& graph) {
  const auto roles = roles_of(graph);
  std::map<BufferId, Reads> all;
  for (NodeId node = 0; node < graph.nodes.size(); ++node)
    for (const NodeAccess& access : graph.nodes[node].accesses) {
      const Buffer& buffer = graph.buffers[access.buffer];
      const bool copied_to = buffer.space == MemorySpace::device || buffer.space == MemorySpace::unknown;
      if (roles[access.buffer] != Role::input || access.mode != Mode::read || buffer.base == 0 || !copied_to) continue;
      Reads& of_buffer = all[access.buffer];
      of_buffer.bytes.add(access.range);
      if (of_buffer.nodes.empty() || of_buffer.nodes.back() != node) of_buffer.nodes.push_back(node);
    }
  // What the graph writes itself need not come from the host.
  for (const Node& node : graph.nodes)
    for (const NodeAccess& access : node.accesses)
      if (access.mode != Mode::read) all.erase(access.buffer);
  return all;
}

/// What one launch found of an input: the bytes that were written since the launch before.
struct Refresh {
  const ApiEvent* launch = nullptr;
  RangeSet written;
  bool in_doubt = false;  ///< a kernel ran in between, and may have written any byte
};

bool may_write_anything(const ApiEvent& call) {
  return is_launch(call.api) || call.api == Api::graph_launch || call.api == Api::cublas_gemm ||
         call.api == Api::cublas_gemm_own_workspace;
}

/// The calls of a timeline that wrote memory when they were made, runs of kernels cut down to their first.
std::vector<const ApiEvent*> writes_of(const Timeline& timeline) {
  std::vector<const ApiEvent*> writes;
  bool in_run = false;
  for (const ApiEvent& call : timeline.calls) {
    if (!ran_at_once(call)) continue;
    const bool kernel = may_write_anything(call) && call.api != Api::graph_launch;
    if (kernel && in_run) continue;
    if (!kernel && call.api != Api::graph_launch && !is_async_copy(call.api) && !is_blocking_copy(call.api)) continue;
    writes.push_back(&call);
    in_run = kernel;
  }
  return writes;
}

std::vector<Refresh> refreshes(const std::vector<const ApiEvent*>& writes, const Buffer& buffer,
                               const std::set<const ApiEvent*>& launches) {
  std::vector<Refresh> all;
  Refresh next;
  for (const ApiEvent* call : writes) {
    if (launches.contains(call)) {
      next.launch = call;
      all.push_back(std::exchange(next, {}));
    } else if (may_write_anything(*call)) {
      next.in_doubt = true;
    } else if (call->address < buffer.base + buffer.bytes && buffer.base < call->address + call->bytes) {
      const Address begin = std::max(call->address, buffer.base);
      const Address end = std::min(call->address + call->bytes, buffer.base + buffer.bytes);
      next.written.add({begin - buffer.base, end - buffer.base});
    }
  }
  return all;
}

/// The first launch that found less refreshed than an earlier one did, of the bytes that are read.
struct Shrunk {
  const Refresh* later = nullptr;
  const Refresh* earlier = nullptr;
  std::vector<ByteRange> stale;
  std::size_t launches = 0;  ///< that found so
  bool in_doubt = false;
};

/// The bytes that are read behind all that was refreshed, and that earlier copies had reached. A head that was not
/// written again is no padding.
RangeSet stale_tail(const Refresh& refresh, const RangeSet& before, const Reads& reads) {
  RangeSet stale;
  const std::uint64_t refreshed = hull(refresh.written.ranges()).end;
  for (const ByteRange& read : reads.bytes.ranges())
    for (const ByteRange& earlier : before.ranges())
      stale.add(intersection(intersection(read, earlier), {refreshed, read.end}));
  return stale;
}

Shrunk find_shrunk(const std::vector<Refresh>& all, const Reads& reads) {
  Shrunk shrunk;
  RangeSet before;
  for (const Refresh& refresh : all) {
    const RangeSet stale = refresh.written.empty() ? RangeSet() : stale_tail(refresh, before, reads);
    for (const ByteRange& range : refresh.written.ranges()) before.add(range);
    if (stale.empty()) continue;
    shrunk.in_doubt = shrunk.in_doubt || refresh.in_doubt;
    if (refresh.in_doubt) continue;
    ++shrunk.launches;
    if (shrunk.later != nullptr) continue;
    shrunk.later = &refresh;
    shrunk.stale = stale.ranges();
    shrunk.earlier = &*std::find_if(
        all.begin(), all.end(), [&](const Refresh& earlier) { return earlier.written.overlaps(shrunk.stale.front()); });
  }
  return shrunk;
}

void report_shrunk(const GraphView& view, BufferId buffer, const Reads& reads, const Shrunk& shrunk, Report& report) {
  const std::string name = name_of(view.graph(), buffer);
  Finding finding = new_finding("RF311", view, Certainty::inferred);
  finding.count = shrunk.launches;
  finding.message =
      fmt::format("{} reads {} of {}, and before a launch only {} were written: {} keep the values of an earlier step",
                  describe(view.graph(), reads.nodes.front()), list_ranges(reads.bytes.ranges()), name,
                  list_ranges(shrunk.later->written.ranges()), list_ranges(shrunk.stale));
  finding.evidence.push_back(
      fmt::format("before the launch at event {}, {} were written; before the one at event {}, {}",
                  shrunk.earlier->launch->sequence, list_ranges(shrunk.earlier->written.ranges()),
                  shrunk.later->launch->sequence, list_ranges(shrunk.later->written.ranges())));
  if (shrunk.launches > 1) finding.evidence.push_back(fmt::format("{} launches found it so", shrunk.launches));
  add(view, buffer, std::move(finding), reads.nodes, report);
}

void check_timeline(const GraphView& view, const GraphLife& life, const std::vector<const ApiEvent*>& writes,
                    const std::set<BufferId>& told, Report& report) {
  std::set<const ApiEvent*> launches;
  for (const ExecLife& exec : life.execs) launches.insert(exec.launches.begin(), exec.launches.end());
  if (launches.size() < 2) return;
  for (const auto& [buffer, reads] : input_reads(view.graph())) {
    if (told.contains(buffer)) continue;
    const auto all = refreshes(writes, view.graph().buffers[buffer], launches);
    const Shrunk shrunk = find_shrunk(all, reads);
    if (shrunk.later != nullptr)
      report_shrunk(view, buffer, reads, shrunk, report);
    else if (shrunk.in_doubt)
      report.not_checked("RF311",
                         fmt::format("{}: the copies to {} shrink from launch to launch, and kernels that ran in "
                                     "between may have filled the rest",
                                     place(view), name_of(view.graph(), buffer)));
  }
}

}  // namespace

void check_rf311(const SubjectView& view, Report& report) {
  if (!has_graphs(view, report, "RF311")) return;
  tell_unknown_nodes(view, report, "RF311");
  const GraphLives lives(view);
  std::map<const Recording*, std::vector<const ApiEvent*>> writes;
  for (const Recording* recording : view.timelines()) writes[recording] = writes_of(recording->timeline);
  for (std::size_t i = 0; i < view.graphs().size(); ++i) {
    const GraphView& graph = view.graphs()[i];
    std::set<BufferId> told;
    for (const StaleInput& input : stale_inputs(graph)) {
      told.insert(input.buffer);
      report_entry(graph, input, report);
    }
    if (const GraphLife* life = lives.of(i); life != nullptr && !graph.parent())
      check_timeline(graph, *life, writes[&graph.recording()], told, report);
  }
}

}  // namespace refrain
