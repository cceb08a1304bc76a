#include "traces/graph_nodes.hpp"

#include <algorithm>
#include <utility>

namespace refrain {
namespace {

std::pair<std::uint32_t, std::uint64_t> key_of(const GraphNodeEvent& node) {
  return {node.process, node.node};
}

auto first_from(const Timeline& timeline, std::pair<std::uint32_t, std::uint64_t> key) {
  return std::lower_bound(timeline.graph_nodes.begin(), timeline.graph_nodes.end(), key,
                          [](const GraphNodeEvent& node, const auto& wanted) { return key_of(node) < wanted; });
}

}  // namespace

const GraphNodeEvent* find_graph_node(const Timeline& timeline, std::uint32_t process, std::uint64_t node) {
  const auto at = first_from(timeline, {process, node});
  return at != timeline.graph_nodes.end() && key_of(*at) == std::pair(process, node) ? &*at : nullptr;
}

std::uint64_t captured_nodes_of(const Timeline& timeline, std::uint32_t process, std::uint32_t exec) {
  const auto is_its = [&](const GraphNodeEvent& node) { return node.process == process && node.node >> 32 == exec; };
  const auto first = first_from(timeline, {process, std::uint64_t{exec} << 32});
  return static_cast<std::uint64_t>(std::find_if_not(first, timeline.graph_nodes.end(), is_its) - first);
}

const RangeEvent* capture_range(const Timeline& timeline, const GraphNodeEvent& node) {
  const auto call =
      std::lower_bound(timeline.calls.begin(), timeline.calls.end(), node.call,
                       [](const ApiEvent& event, std::uint64_t wanted) { return event.sequence < wanted; });
  if (call == timeline.calls.end() || call->sequence != node.call) return nullptr;
  const RangeEvent* innermost = nullptr;
  for (const RangeEvent& range : timeline.ranges)
    if (range.thread == call->thread && range.first < node.call && node.call < range.last &&
        (innermost == nullptr || range.first > innermost->first))
      innermost = &range;
  return innermost;
}

}  // namespace refrain
