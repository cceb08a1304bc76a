#include "audit/rules/traffic.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "audit/captures.hpp"
#include "audit/rules/words.hpp"

namespace refrain {
namespace {

void add_touches(const SubjectView& view, std::size_t index, TimedGraph& timed) {
  const Graph& graph = view.graphs()[index].graph();
  for (NodeId id = 0; id < graph.nodes.size(); ++id) {
    const Node& node = graph.nodes[id];
    timed.has_unknown = timed.has_unknown || is_unknown(node);
    for (const NodeAccess& access : node.accesses) {
      const Address base = graph.buffers[access.buffer].base;
      if (base != 0 && !access.range.empty())
        timed.touches.push_back(
            {index, id, access.buffer, base + access.range.begin, base + access.range.end, access.mode});
    }
  }
}

}  // namespace

Traffic::Traffic(const SubjectView& view, const GraphLives& lives, const Recording& recording) {
  for (std::size_t i = 0; i < view.graphs().size(); ++i) {
    const GraphView& graph = view.graphs()[i];
    if (&graph.recording() != &recording || lives.of(i) == nullptr) continue;
    if (!graph.parent()) {
      graphs_.emplace_back();
      graphs_.back().life = lives.of(i);
    }
    graphs_.back().views.push_back(i);
    add_touches(view, i, graphs_.back());
  }
  for (std::size_t i = 0; i < graphs_.size(); ++i)
    for (const ExecLife& exec : graphs_[i].life->execs)
      for (const ApiEvent* launch : exec.launches) launches_.emplace(launch, i);
}

const TimedGraph* Traffic::launched_by(const ApiEvent& call) const {
  const auto found = launches_.find(&call);
  return found == launches_.end() ? nullptr : &graphs_[found->second];
}

std::string buffer_name_at(const Graph& graph, Address address, const char* otherwise) {
  for (BufferId id = 0; id < graph.buffers.size(); ++id) {
    const Buffer& buffer = graph.buffers[id];
    if (buffer.base != 0 && !buffer.died && buffer.base <= address && address - buffer.base < buffer.bytes)
      return name_of(graph, id);
  }
  return otherwise;
}

bool writes_at_once(const ApiEvent& call) noexcept {
  return (is_blocking_copy(call.api) || is_async_copy(call.api)) && call.address != 0 && call.bytes > 0 &&
         ran_at_once(call);
}

void tell_untied_graphs(const SubjectView& view, const GraphLives& lives, Report& report, std::string_view rule) {
  for (std::size_t i = 0; i < view.graphs().size(); ++i) {
    const GraphView& graph = view.graphs()[i];
    if (!graph.parent() && graph.recording().has_timeline && lives.of(i) == nullptr)
      report.not_checked(rule, fmt::format("{}: no record ties it to its launches", place(graph)));
  }
}

}  // namespace refrain
