#include "audit/reports/drawing.hpp"

#include <algorithm>
#include <deque>
#include <unordered_map>

namespace refrain {
namespace {

class Layout {
 public:
  Layout(const Graph& graph, const Topology& topology, std::span<const NodeId> chosen)
      : topology_(topology),
        chosen_(chosen),
        layer_of_(chosen.size(), 0),
        column_of_(chosen.size(), 0),
        wish_of_(chosen.size(), 0) {
    for (std::size_t i = 0; i < chosen.size(); ++i) index_.emplace(chosen[i], i);
    for (const Edge& edge : graph.edges) {
      const auto from = index_.find(edge.from), to = index_.find(edge.to);
      if (from != index_.end() && to != index_.end()) edges_.push_back({from->second, to->second, edge.kind});
    }
    before_.resize(chosen.size());
    for (const DrawnEdge& edge : edges_) before_[edge.to].push_back(edge.from);
  }

  Drawing run() {
    make_layers();
    for (auto& layer : layers_) place(layer);
    return drawing(topology_.order().size());
  }

 private:
  // The chosen nodes are in topological order, so that a predecessor's layer is final when it is asked for.
  void make_layers() {
    for (std::size_t i = 0; i < chosen_.size(); ++i) {
      for (const std::size_t p : before_[i]) layer_of_[i] = std::max(layer_of_[i], layer_of_[p] + 1);
      if (layers_.size() <= layer_of_[i]) layers_.resize(layer_of_[i] + 1);
      layers_[layer_of_[i]].push_back(i);
    }
  }

  /// Where a node would stand by itself: in the middle of what it waits for.
  [[nodiscard]] double wish(std::size_t i) const {
    if (before_[i].empty()) return 0;
    double sum = 0;
    for (const std::size_t p : before_[i]) sum += column_of_[p];
    return sum / static_cast<double>(before_[i].size());
  }

  // In the order of the wishes, each as near to its own as its left neighbour lets it, and then the whole layer moved
  // so that the wishes are met on average.
  void place(std::vector<std::size_t>& layer) {
    for (const std::size_t i : layer) wish_of_[i] = wish(i);
    std::stable_sort(layer.begin(), layer.end(),
                     [&](std::size_t a, std::size_t b) { return wish_of_[a] < wish_of_[b]; });
    double next = wish_of_[layer.front()], drift = 0;
    for (const std::size_t i : layer) {
      column_of_[i] = std::max(next, wish_of_[i]);
      next = column_of_[i] + 1;
      drift += column_of_[i] - wish_of_[i];
    }
    for (const std::size_t i : layer) column_of_[i] -= drift / static_cast<double>(layer.size());
  }

  [[nodiscard]] std::uint32_t hidden(std::span<const NodeId> nodes) const {
    return static_cast<std::uint32_t>(
        std::count_if(nodes.begin(), nodes.end(), [&](NodeId node) { return !index_.contains(node); }));
  }

  [[nodiscard]] Drawing drawing(std::size_t all) {
    Drawing drawing;
    if (chosen_.empty()) return drawing;
    const auto [left, right] = std::minmax_element(column_of_.begin(), column_of_.end());
    const double shift = 0.5 - *left;
    drawing.columns = *right - *left + 1;
    drawing.layers = static_cast<std::uint32_t>(layers_.size());
    drawing.hidden = all - chosen_.size();
    std::vector<std::size_t> place(chosen_.size());
    for (const auto& layer : layers_)
      for (const std::size_t i : layer) {
        place[i] = drawing.nodes.size();
        const NodeId node = chosen_[i];
        drawing.nodes.push_back({node, layer_of_[i], column_of_[i] + shift, hidden(topology_.predecessors(node)),
                                 hidden(topology_.successors(node))});
      }
    for (const DrawnEdge& edge : edges_) drawing.edges.push_back({place[edge.from], place[edge.to], edge.kind});
    return drawing;
  }

  const Topology& topology_;
  std::span<const NodeId> chosen_;
  std::unordered_map<NodeId, std::size_t> index_;
  std::vector<DrawnEdge> edges_;  // over indices into chosen_
  std::vector<std::vector<std::size_t>> before_, layers_;
  std::vector<std::uint32_t> layer_of_;
  std::vector<double> column_of_, wish_of_;
};

}  // namespace

std::vector<NodeId> choose_nodes(const Topology& topology, std::span<const NodeId> focus, std::size_t most) {
  const auto order = topology.order();
  std::vector<NodeId> chosen;
  if (order.size() <= most || focus.empty()) {
    chosen.assign(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(std::min(order.size(), most)));
    return chosen;
  }
  std::vector<bool> taken(order.size(), false);
  std::deque<NodeId> front;
  const auto take = [&](NodeId node) {
    if (node >= taken.size() || taken[node] || chosen.size() == most) return;
    taken[node] = true;
    chosen.push_back(node);
    front.push_back(node);
  };
  for (const NodeId node : focus) take(node);
  // Breadth first from all of them at once: what is nearest to any comes first.
  for (; !front.empty() && chosen.size() < most; front.pop_front()) {
    const NodeId node = front.front();
    for (const NodeId other : topology.predecessors(node)) take(other);
    for (const NodeId other : topology.successors(node)) take(other);
  }
  std::sort(chosen.begin(), chosen.end(),
            [&](NodeId a, NodeId b) { return topology.position(a) < topology.position(b); });
  return chosen;
}

Drawing lay_out(const Graph& graph, const Topology& topology, std::span<const NodeId> chosen) {
  return Layout(graph, topology, chosen).run();
}

}  // namespace refrain
