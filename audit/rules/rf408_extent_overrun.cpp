// RF408: an access, a copy or a fill that reaches past the end of its buffer. What
// lies there belongs to somebody else, so no sanitizer need notice.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "audit/rules/checks.hpp"
#include "audit/rules/words.hpp"
#include "graphs/live_buffers.hpp"

namespace refrain {
namespace {

struct Overrun {
  std::vector<NodeId> nodes;
  ByteRange range;  ///< of the first node, in the buffer
  bool writes = false;
  std::uint64_t past = 0;  ///< the most bytes past the end, of all nodes
  Certainty certainty = Certainty::contract;
};

using Overruns = std::map<BufferId, Overrun>;

void keep(Overruns& overruns, const Graph& graph, NodeId node, BufferId buffer, ByteRange range, bool writes,
          Certainty certainty) {
  const std::uint64_t bytes = graph.buffers[buffer].bytes;
  if (bytes == 0 || range.empty() || range.end <= bytes) return;
  Overrun& overrun = overruns[buffer];
  if (overrun.nodes.empty()) overrun = {{}, range, writes, 0, certainty};
  if (overrun.nodes.empty() || overrun.nodes.back() != node) overrun.nodes.push_back(node);
  overrun.past = std::max(overrun.past, range.end - bytes);
}

Overruns overruns_of(const Graph& graph, const LiveBuffers& live) {
  Overruns overruns;
  const auto span = [&](NodeId node, Address address, std::uint64_t bytes, bool writes) {
    const auto buffer = address == 0 ? std::nullopt : live.at(address);
    if (!buffer) return;
    const std::uint64_t begin = address - graph.buffers[*buffer].base;
    keep(overruns, graph, node, *buffer, {begin, begin + bytes}, writes, Certainty::proven);
  };
  for (NodeId id = 0; id < graph.nodes.size(); ++id) {
    const Node& node = graph.nodes[id];
    if (node.copy) span(id, node.copy->src, node.copy->bytes, false);
    if (node.copy) span(id, node.copy->dst, node.copy->bytes, true);
    if (node.fill) span(id, node.fill->dst, node.fill->bytes, true);
    for (const NodeAccess& access : node.accesses)
      keep(overruns, graph, id, access.buffer, access.range, access.mode != Mode::read, access.certainty);
  }
  return overruns;
}

void report_overrun(const GraphView& view, const LiveBuffers& live, BufferId id, const Overrun& overrun,
                    Report& report) {
  const Graph& graph = view.graph();
  const Buffer& buffer = graph.buffers[id];
  const std::string name = name_of(graph, id);
  Finding finding = new_finding("RF408", view, overrun.certainty);
  finding.count = overrun.nodes.size();
  finding.nodes = overrun.nodes;
  finding.where = place(view, overrun.nodes, {name});
  finding.message = fmt::format("{} {} {} of {}, which has {} bytes: {} bytes past its end",
                                describe(graph, overrun.nodes.front()), overrun.writes ? "writes" : "reads",
                                bytes_of(overrun.range), name, buffer.bytes, overrun.range.end - buffer.bytes);
  const auto neighbour = live.at(buffer.base + buffer.bytes);
  if (buffer.base != 0 && neighbour) finding.message += fmt::format(", where {} begins", name_of(graph, *neighbour));
  if (overrun.nodes.size() > 1)
    finding.evidence.push_back(
        fmt::format("{} nodes reach past it: {}", overrun.nodes.size(), list_nodes(graph, overrun.nodes)));
  finding.fix = fmt::format("give {} {} bytes, or bound {} by its size: rows of the bucket times the bytes of a row",
                            name, buffer.bytes + overrun.past, describe(graph, overrun.nodes.front()));
  std::vector<std::string> names = {name};
  for (const NodeId node : overrun.nodes) names.push_back(name_of(graph.nodes[node]));
  report.add(std::move(finding), names);
}

}  // namespace

void check_rf408(const SubjectView& view, Report& report) {
  if (!has_graphs(view, report, "RF408")) return;
  tell_unknown_nodes(view, report, "RF408");
  for (const GraphView& graph_view : view.graphs()) {
    const LiveBuffers live(graph_view.graph());
    for (const auto& [buffer, overrun] : overruns_of(graph_view.graph(), live))
      report_overrun(graph_view, live, buffer, overrun, report);
  }
}

}  // namespace refrain
