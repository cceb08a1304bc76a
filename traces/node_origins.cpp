#include "traces/node_origins.hpp"

#include <algorithm>
#include <tuple>

#include "traces/sink.hpp"

namespace refrain {
namespace {

constexpr int kMaxClones = 64;  // child graphs do not nest so deep: a longer chain goes in a circle

std::pair<std::uint32_t, std::uint64_t> key_of(const TracedNode& row) {
  return {row.process, row.node};
}

}  // namespace

NodeOrigins::NodeOrigins(std::vector<TracedNode> rows) : clones_(std::move(rows)) {
  // A clone may have a row as a new node as well: the row that names its original counts.
  std::sort(clones_.begin(), clones_.end(), [](const TracedNode& a, const TracedNode& b) {
    return std::tuple(a.process, a.node, a.original == 0) < std::tuple(b.process, b.node, b.original == 0);
  });
  clones_.erase(std::unique(clones_.begin(), clones_.end(),
                            [](const TracedNode& a, const TracedNode& b) { return key_of(a) == key_of(b); }),
                clones_.end());
  for (const TracedNode& row : clones_)
    if (row.original == 0) roots_.push_back({row.time_ns, row.node, WorkEvent::kNoCall, row.process, row.thread});
  std::erase_if(clones_, [](const TracedNode& row) { return row.original == 0; });
  std::sort(roots_.begin(), roots_.end(), [](const Root& a, const Root& b) {
    return std::tuple(a.thread, a.time_ns, a.node) < std::tuple(b.thread, b.time_ns, b.node);
  });
  by_node_.resize(roots_.size());
  for (std::size_t i = 0; i < by_node_.size(); ++i) by_node_[i] = i;
  std::sort(by_node_.begin(), by_node_.end(), [&](std::size_t a, std::size_t b) {
    return std::pair(roots_[a].process, roots_[a].node) < std::pair(roots_[b].process, roots_[b].node);
  });
}

void NodeOrigins::made_by(const TracedCall& call, std::uint64_t sequence) {
  auto at = std::lower_bound(roots_.begin(), roots_.end(), call, [](const Root& root, const TracedCall& by) {
    return root.thread != by.thread ? root.thread < by.thread : root.time_ns < by.start_ns;
  });
  for (; at != roots_.end() && at->thread == call.thread && at->time_ns <= call.end_ns; ++at) at->call = sequence;
}

const TracedNode* NodeOrigins::clone(std::uint32_t process, std::uint64_t node) const {
  const auto at = std::lower_bound(clones_.begin(), clones_.end(), std::pair(process, node),
                                   [](const TracedNode& row, const auto& key) { return key_of(row) < key; });
  return at != clones_.end() && key_of(*at) == std::pair(process, node) ? &*at : nullptr;
}

std::uint64_t NodeOrigins::origin_of(const TracedNode& node) const {
  const TracedNode* last = &node;
  for (int i = 0; i < kMaxClones; ++i) {
    const TracedNode* next = clone(node.process, last->original);
    if (next == nullptr) break;
    last = next;
  }
  return last->original;
}

void NodeOrigins::emit(RecordSink& sink) const {
  std::uint64_t outside = 0;
  for (const TracedNode& row : clones_) {
    GraphNodeEvent event;
    event.node = row.node;
    event.captured = origin_of(row);
    event.process = row.process;
    const auto root = std::lower_bound(
        by_node_.begin(), by_node_.end(), std::pair(row.process, event.captured),
        [&](std::size_t place, const auto& key) { return std::pair(roots_[place].process, roots_[place].node) < key; });
    const bool known =
        root != by_node_.end() && roots_[*root].process == row.process && roots_[*root].node == event.captured;
    if (known) event.call = roots_[*root].call;
    outside += known ? 0 : 1;
    sink.graph_node(event);
  }
  if (outside > 0)
    sink.limit({"nodes-captured-before",
                "these graph nodes are clones of nodes that were made before the trace began: where they were captured "
                "is not known",
                outside});
}

}  // namespace refrain
