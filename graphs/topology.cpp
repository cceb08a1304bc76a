#include "graphs/topology.hpp"

#include <algorithm>
#include <functional>
#include <queue>
#include <string>

#include <fmt/format.h>

#include "graphs/error.hpp"

namespace refrain {
namespace {

constexpr std::uint32_t kNowhere = UINT32_MAX;

[[noreturn]] void fail_edge(const Graph& graph, std::size_t index) {
  const Edge& edge = graph.edges[index];
  const NodeId missing = edge.from < graph.nodes.size() ? edge.to : edge.from;
  throw Error(ErrorKind::input, fmt::format("edges[{}]", index),
              fmt::format("expected node ids below {}, found {} -> {}; add node {} or drop the edge",
                          graph.nodes.size(), edge.from, edge.to, missing),
              graph.name);
}

[[noreturn]] void fail_cycle(const Graph& graph, const std::vector<NodeId>& cycle) {
  const NodeId first = *std::min_element(cycle.begin(), cycle.end());
  throw Error(ErrorKind::input, "edges",
              fmt::format("expected no cycle, found one of {} node{} through {}; drop one of its edges", cycle.size(),
                          cycle.size() == 1 ? "" : "s", describe(graph, first)),
              graph.name);
}

}  // namespace

Topology::Topology(const Graph& graph, std::size_t table_limit) {
  index_edges(graph);
  sort(graph);
  cover_with_chains();
  // Filling costs up to edges x chains, so a dense graph is left to the search as well.
  const std::size_t nodes = order_.size();
  const std::size_t chains = std::max<std::size_t>(chain_count_, 1);
  if (nodes != 0 && nodes <= table_limit / chains && graph.edges.size() / 16 <= table_limit / chains)
    fill_reach_table();
}

std::span<const NodeId> Topology::predecessors(NodeId node) const noexcept {
  return {in_.data() + in_begin_[node], in_.data() + in_begin_[node + 1]};
}

std::span<const NodeId> Topology::successors(NodeId node) const noexcept {
  return {out_.data() + out_begin_[node], out_.data() + out_begin_[node + 1]};
}

// Both directions as compressed rows: row n is [begin[n], begin[n + 1]).
void Topology::index_edges(const Graph& graph) {
  const std::size_t nodes = graph.nodes.size();
  in_begin_.assign(nodes + 1, 0);
  out_begin_.assign(nodes + 1, 0);
  for (std::size_t i = 0; i < graph.edges.size(); ++i) {
    const Edge& edge = graph.edges[i];
    if (edge.from >= nodes || edge.to >= nodes) fail_edge(graph, i);
    ++in_begin_[edge.to + 1];
    ++out_begin_[edge.from + 1];
  }
  for (std::size_t n = 0; n < nodes; ++n) {
    in_begin_[n + 1] += in_begin_[n];
    out_begin_[n + 1] += out_begin_[n];
  }
  in_.resize(graph.edges.size());
  out_.resize(graph.edges.size());
  std::vector<std::uint32_t> in_next(in_begin_.begin(), in_begin_.end() - 1);
  std::vector<std::uint32_t> out_next(out_begin_.begin(), out_begin_.end() - 1);
  for (const Edge& edge : graph.edges) {
    in_[in_next[edge.to]++] = edge.from;
    out_[out_next[edge.from]++] = edge.to;
  }
}

void Topology::sort(const Graph& graph) {
  const std::size_t nodes = graph.nodes.size();
  std::vector<std::uint32_t> waiting(nodes);
  std::priority_queue<NodeId, std::vector<NodeId>, std::greater<>> ready;
  for (NodeId n = 0; n < nodes; ++n) {
    waiting[n] = static_cast<std::uint32_t>(predecessors(n).size());
    if (waiting[n] == 0) ready.push(n);
  }
  position_.assign(nodes, kNowhere);
  order_.reserve(nodes);
  while (!ready.empty()) {
    const NodeId n = ready.top();
    ready.pop();
    position_[n] = static_cast<std::uint32_t>(order_.size());
    order_.push_back(n);
    for (const NodeId next : successors(n))
      if (--waiting[next] == 0) ready.push(next);
  }
  if (order_.size() == nodes) return;

  // Every unsorted node has an unsorted predecessor, so walking back must come round.
  NodeId at = 0;
  while (position_[at] != kNowhere) ++at;
  std::vector<NodeId> walk;
  std::vector<std::uint32_t> seen(nodes, kNowhere);
  while (seen[at] == kNowhere) {
    seen[at] = static_cast<std::uint32_t>(walk.size());
    walk.push_back(at);
    for (const NodeId before : predecessors(at))
      if (position_[before] == kNowhere) {
        at = before;
        break;
      }
  }
  fail_cycle(graph, {walk.begin() + seen[at], walk.end()});
}

// Greedy: a node continues the chain of the first predecessor that still ends one.
void Topology::cover_with_chains() {
  const std::size_t nodes = order_.size();
  chain_.assign(nodes, 0);
  rank_.assign(nodes, 1);
  std::vector<NodeId> last;  // of each chain
  for (const NodeId n : order_) {
    bool placed = false;
    for (const NodeId before : predecessors(n)) {
      if (last[chain_[before]] != before) continue;
      chain_[n] = chain_[before];
      rank_[n] = rank_[before] + 1;
      placed = true;
      break;
    }
    if (!placed) {
      chain_[n] = static_cast<std::uint32_t>(last.size());
      last.push_back(n);
    }
    last[chain_[n]] = n;
  }
  chain_count_ = last.size();
}

void Topology::fill_reach_table() {
  reach_.assign(order_.size() * chain_count_, 0);
  std::vector<NodeId> latest_first;
  for (const NodeId n : order_) {
    std::uint32_t* row = reach_.data() + n * chain_count_;
    latest_first.assign(predecessors(n).begin(), predecessors(n).end());
    std::sort(latest_first.begin(), latest_first.end(),
              [this](NodeId a, NodeId b) { return position_[a] > position_[b]; });
    for (const NodeId before : latest_first) {
      // Reached through a later predecessor already: its whole row was merged with that one's.
      if (row[chain_[before]] >= rank_[before]) continue;
      const std::uint32_t* other = reach_.data() + before * chain_count_;
      for (std::size_t c = 0; c < chain_count_; ++c) row[c] = std::max(row[c], other[c]);
      row[chain_[before]] = rank_[before];
    }
  }
}

bool Topology::before(NodeId a, NodeId b) const {
  if (position_[a] >= position_[b]) return false;
  if (chain_[a] == chain_[b]) return true;
  if (reach_.empty()) return search(a, b);
  return reach_[b * chain_count_ + chain_[a]] >= rank_[a];
}

// Forward from `a`, never past the position of `b`; a node on the chain of `b` at or before it settles the matter.
bool Topology::search(NodeId a, NodeId b) const {
  const std::uint32_t begin = position_[a];
  const std::uint32_t end = position_[b];
  std::vector<bool> seen(end - begin + 1);
  std::vector<NodeId> stack{a};
  while (!stack.empty()) {
    const NodeId n = stack.back();
    stack.pop_back();
    for (const NodeId next : successors(n)) {
      if (position_[next] > end || seen[position_[next] - begin]) continue;
      if (chain_[next] == chain_[b]) return true;
      seen[position_[next] - begin] = true;
      stack.push_back(next);
    }
  }
  return false;
}

std::vector<NodeId> Topology::critical_path() const {
  if (order_.empty()) return {};
  std::vector<std::uint32_t> length(order_.size(), 1);
  std::vector<NodeId> previous(order_.size(), kNowhere);
  NodeId end = order_.front();
  for (const NodeId n : order_) {
    for (const NodeId before : predecessors(n))
      if (length[before] + 1 > length[n]) {
        length[n] = length[before] + 1;
        previous[n] = before;
      }
    if (length[n] > length[end]) end = n;
  }
  std::vector<NodeId> path;
  for (NodeId n = end; n != kNowhere; n = previous[n]) path.push_back(n);
  std::reverse(path.begin(), path.end());
  return path;
}

}  // namespace refrain
