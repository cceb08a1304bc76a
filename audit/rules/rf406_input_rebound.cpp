// RF406: an input was bound to another place after the capture, and the graph was
// launched all the same: the replay reads the old place, which is alive and holds
// an earlier step's values. No address is wrong, so nothing else notices. A place
// that was freed is 401's or 402's.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "audit/graph_lives.hpp"
#include "audit/rules/checks.hpp"
#include "audit/rules/words.hpp"

namespace refrain {
namespace {

using Bindings = std::vector<const BindingEvent*>;  // of one name, in order

std::map<StringId, Bindings> bindings_by_name(const Timeline& timeline) {
  std::map<StringId, Bindings> names;
  for (const BindingEvent& event : timeline.bindings) names[event.name].push_back(&event);
  return names;
}

/// What holds at `sequence`; null before the first.
const BindingEvent* binding_at(const Bindings& bindings, std::uint64_t sequence) {
  const auto next = std::upper_bound(bindings.begin(), bindings.end(), sequence,
                                     [](std::uint64_t s, const BindingEvent* b) { return s < b->sequence; });
  return next == bindings.begin() ? nullptr : *std::prev(next);
}

/// The nodes that read where `at` points.
std::vector<NodeId> readers_of(const Graph& graph, const BindingEvent& at) {
  const Address end = at.address + std::max<std::uint64_t>(at.bytes, 1);
  std::vector<NodeId> readers;
  for (NodeId id = 0; id < graph.nodes.size(); ++id) {
    const Node& node = graph.nodes[id];
    bool reads = node.copy && node.copy->src < end && at.address < node.copy->src + node.copy->bytes;
    for (const NodeAccess& access : node.accesses) {
      const Address base = graph.buffers[access.buffer].base;
      reads = reads || (access.mode != Mode::write && base != 0 && base + access.range.begin < end &&
                        at.address < base + access.range.end);
    }
    if (reads) readers.push_back(id);
  }
  return readers;
}

bool died_before(const Timeline& timeline, Address address, std::uint64_t sequence) {
  return std::any_of(timeline.buffers.begin(), timeline.buffers.end(), [&](const BufferEvent& event) {
    const Buffer& b = event.buffer;
    return b.died && *b.died < sequence && b.base <= address && address - b.base < b.bytes;
  });
}

struct Rebinding {
  const BindingEvent *captured = nullptr, *now = nullptr;
  const ApiEvent* first = nullptr;  ///< launch that read the old place
  std::uint64_t launches = 0;
};

/// The launches of the graph that ran while the input stood elsewhere.
Rebinding rebinding_of(const Timeline& timeline, const GraphLife& life, const Bindings& bindings) {
  Rebinding found;
  found.captured = binding_at(bindings, life.captured);
  if (found.captured == nullptr) return found;
  for (const ExecLife& exec : life.execs)
    for (const ApiEvent* launch : exec.launches) {
      const BindingEvent* now = binding_at(bindings, launch->sequence);
      if (now->address == found.captured->address || died_before(timeline, found.captured->address, launch->sequence))
        continue;
      ++found.launches;
      if (found.first == nullptr || launch->sequence < found.first->sequence) found.first = launch, found.now = now;
    }
  return found;
}

void report_rebinding(const GraphView& view, const std::string& name, const Rebinding& found,
                      std::vector<NodeId> readers, Report& report) {
  const Graph& graph = view.graph();
  Finding finding = new_finding("RF406", view, Certainty::contract);
  finding.count = found.launches;
  finding.nodes = std::move(readers);
  finding.where = place(view, finding.nodes, {name});
  finding.message = fmt::format(
      "input {} was at 0x{:x} when the graph was captured and was bound to 0x{:x} at event {}: {} still reads the old "
      "place, which is alive and holds what an earlier step left",
      name, found.captured->address, found.now->address, found.now->sequence, describe(graph, finding.nodes.front()));
  finding.evidence.push_back(fmt::format("{} launch{} since, the first at event {}", found.launches,
                                         found.launches == 1 ? "" : "es", found.first->sequence));
  finding.fix = fmt::format(
      "copy the new values to the place that the graph has for {}, or capture the graph again after it moved", name);
  report.add(std::move(finding), std::vector<std::string>{name});
}

}  // namespace

void check_rf406(const SubjectView& view, Report& report) {
  constexpr std::string_view kRule = "RF406";
  if (!has_timelines(view, report, kRule, "a graph alone does not show where its inputs are bound later")) return;
  const GraphLives lives(view);
  for (std::size_t i = 0; i < view.graphs().size(); ++i) {
    const GraphView& graph = view.graphs()[i];
    const GraphLife* life = lives.of(i);
    if (life == nullptr || !graph.recording().has_timeline) continue;
    const Timeline& timeline = graph.recording().timeline;
    if (timeline.bindings.empty()) {
      report.not_checked(kRule, "the recording does not say where inputs are bound (records of type `binding`)");
      continue;
    }
    if (life->updated)
      report.not_checked(kRule, "a graph exec was updated: the recording does not say from which graph");
    for (const auto& [name, bindings] : bindings_by_name(timeline)) {
      const Rebinding found = rebinding_of(timeline, *life, bindings);
      if (found.launches == 0) continue;
      std::vector<NodeId> readers = readers_of(graph.graph(), *found.captured);
      if (!readers.empty()) report_rebinding(graph, timeline.text(name), found, std::move(readers), report);
    }
  }
}

}  // namespace refrain
