// cudaGraphDebugDotPrint's dumps as graphs: each cluster becomes a Graph, and the
// clusters that child and conditional nodes name become their bodies. Everything
// is linear in the file; a body has one owner, so nothing is ever copied.
#include <algorithm>
#include <map>
#include <unordered_map>

#include <fmt/format.h>

#include "graphs/dot_node.hpp"
#include "graphs/dot_syntax.hpp"
#include "graphs/error.hpp"
#include "graphs/readers.hpp"
#include "graphs/text.hpp"
#include "graphs/topology.hpp"

namespace refrain {
namespace {

struct BodyLink {
  std::size_t cluster;  // that holds the node
  NodeId node;
  std::size_t body;
};

struct NodePlace {
  std::size_t cluster;
  NodeId node;
};

// The number behind `graph_4_node_`, or nothing.
std::optional<std::uint64_t> node_number(std::string_view name) {
  const std::size_t underscore = name.rfind('_');
  return underscore == std::string_view::npos ? std::nullopt : parse_unsigned(name.substr(underscore + 1));
}

// Nodes take the ids that the dump gives them, if those are 0, 1, 2 ... in some order; else their order in the file.
void sort_by_number(std::vector<DotNode>& nodes) {
  std::vector<DotNode> sorted(nodes.size());
  for (const DotNode& node : nodes) {
    const auto number = node_number(node.name);
    if (!number || *number >= nodes.size() || sorted[*number].line != 0) return;
    sorted[*number] = node;
  }
  nodes = std::move(sorted);
}

void add_unseen(CaptureInfo& capture, Unseen what) {
  if (!capture.cannot_see(what)) capture.unseen.push_back(what);
}

class DotReader {
 public:
  DotReader(std::string_view text, const std::string& file) : file_(file), clusters_(parse_dot(text, file)) {}

  std::vector<Graph> run() {
    // The digraph itself is a graph only where nodes stand outside every cluster.
    if (clusters_.front().nodes.empty() && clusters_.front().edges.empty()) clusters_.erase(clusters_.begin());
    if (clusters_.empty()) fail_dot(file_, 1, "at least one subgraph with nodes", "none", "write the dump of a graph");
    graphs_.resize(clusters_.size());
    for (std::size_t c = 0; c < clusters_.size(); ++c) index_cluster(c);
    for (std::size_t c = 0; c < clusters_.size(); ++c) read_nodes(c);
    for (std::size_t c = 0; c < clusters_.size(); ++c) read_edges(c);
    nest_bodies();
    std::vector<Graph> outermost;
    for (std::size_t c = 0; c < clusters_.size(); ++c)
      if (!owned_[c]) outermost.push_back(std::move(graphs_[c]));
    return outermost;
  }

 private:
  void index_cluster(std::size_t c) {
    DotCluster& cluster = clusters_[c];
    sort_by_number(cluster.nodes);
    graphs_[c].name = unescape_label(cluster.name);
    if (!cluster.name.empty() && !cluster_of_.try_emplace(cluster.name, c).second)
      fail_dot(file_, cluster.line, "each subgraph once", fmt::format("`{}` again", excerpt(cluster.name)),
               "give one dump a file");
    for (std::size_t n = 0; n < cluster.nodes.size(); ++n) {
      const DotNode& node = cluster.nodes[n];
      if (!place_of_.try_emplace(node.name, NodePlace{c, static_cast<NodeId>(n)}).second)
        fail_dot(file_, node.line, "each node once", fmt::format("`{}` again", excerpt(node.name)),
                 "drop one of the two");
    }
  }

  void read_nodes(std::size_t c) {
    Graph& graph = graphs_[c];
    graph.capture.unseen = {Unseen::kernel_params, Unseen::edge_kinds, Unseen::allocations};
    std::map<std::string, std::vector<NodeId>> unknown;
    bool handles = false;
    bool addresses = true;
    bool copy_kinds = true;
    graph.nodes.reserve(clusters_[c].nodes.size());
    for (const DotNode& source : clusters_[c].nodes) {
      DotNodeReading reading = nodes_.read(source);
      const auto id = static_cast<NodeId>(graph.nodes.size());
      handles |= reading.has_handle;
      addresses &= !reading.address_missing;
      copy_kinds &= !reading.copy_kind_missing;
      if (reading.node.kind == NodeKind::other) unknown[reading.node.name].push_back(id);
      link_bodies(c, id, reading);
      graph.nodes.push_back(std::move(reading.node));
    }
    if (!graph.nodes.empty() && !(handles && addresses)) add_unseen(graph.capture, Unseen::addresses);
    if (!copy_kinds) add_unseen(graph.capture, Unseen::copy_memory_kinds);
    for (const auto& [name, ids] : unknown)
      graph.notes.push_back(fmt::format("{} node{} of the unknown kind `{}`, first node {}.", ids.size(),
                                        ids.size() == 1 ? "" : "s", excerpt(name), ids.front()));
  }

  void link_bodies(std::size_t c, NodeId id, const DotNodeReading& reading) {
    const NodeKind kind = reading.node.kind;
    if (kind != NodeKind::child && kind != NodeKind::conditional) return;
    if (reading.bodies.empty()) add_unseen(graphs_[c].capture, Unseen::bodies);
    for (const std::string_view body : reading.bodies) {
      const auto it = cluster_of_.find(body);
      if (it == cluster_of_.end())
        add_unseen(graphs_[c].capture, Unseen::bodies);
      else
        links_.push_back({c, id, it->second});
    }
  }

  NodeId end_of(std::size_t c, std::string_view name, std::size_t line) const {
    const auto it = place_of_.find(name);
    if (it == place_of_.end() || it->second.cluster != c)
      fail_dot(file_, line, fmt::format("an edge between nodes of {}", excerpt(clusters_[c].name)),
               fmt::format("`{}`, which is not one", excerpt(name)), "the dump is cut short or edited, write it again");
    return it->second.node;
  }

  void read_edges(std::size_t c) {
    Graph& graph = graphs_[c];
    graph.edges.reserve(clusters_[c].edges.size());
    for (const DotEdge& edge : clusters_[c].edges)
      graph.edges.push_back({end_of(c, edge.from, edge.line), end_of(c, edge.to, edge.line)});
    try {
      const Topology acyclic(graph, 0);
    } catch (const Error& error) {
      throw Error(ErrorKind::input, fmt::format("line {}: {}", clusters_[c].line, excerpt(graph.name)),
                  error.came_back(), file_);
    }
  }

  // Clusters so that each stands before the bodies that its nodes name; throws on one that contains itself.
  std::vector<std::size_t> outermost_first() const {
    std::vector<std::vector<std::size_t>> inside(clusters_.size());
    std::vector<std::size_t> named(clusters_.size(), 0);
    std::vector<std::size_t> level(clusters_.size(), 0);
    for (const BodyLink& link : links_) {
      inside[link.cluster].push_back(link.body);
      ++named[link.body];
    }
    std::vector<std::size_t> order;
    for (std::size_t c = 0; c < clusters_.size(); ++c)
      if (named[c] == 0) order.push_back(c);
    for (std::size_t i = 0; i < order.size(); ++i)
      for (const std::size_t body : inside[order[i]]) {
        level[body] = std::max(level[body], level[order[i]] + 1);
        if (level[body] > kMaxGraphNesting)
          fail_dot(file_, clusters_[body].line, fmt::format("at most {} levels of bodies", kMaxGraphNesting),
                   fmt::format("{} deeper than that", excerpt(clusters_[body].name)), "flatten the graph");
        if (--named[body] == 0) order.push_back(body);
      }
    if (order.size() == clusters_.size()) return order;
    const auto stuck = static_cast<std::size_t>(
        std::find_if(named.begin(), named.end(), [](std::size_t n) { return n != 0; }) - named.begin());
    fail_dot(file_, clusters_[stuck].line, "bodies that do not contain themselves",
             fmt::format("{} in a circle of bodies", excerpt(clusters_[stuck].name)), "write the dump again");
  }

  void nest_bodies() {
    owned_.assign(clusters_.size(), false);
    const std::vector<std::size_t> order = outermost_first();
    std::vector<std::vector<BodyLink>> owned_links(clusters_.size());
    for (const BodyLink& link : links_) {
      if (!owned_[link.body]) {
        owned_[link.body] = true;
        owned_links[link.cluster].push_back(link);
        continue;
      }
      add_unseen(graphs_[link.cluster].capture, Unseen::bodies);
      graphs_[link.cluster].notes.push_back(fmt::format("Node {} names {}, which is the body of another node already.",
                                                        link.node, excerpt(clusters_[link.body].name)));
    }
    for (auto it = order.rbegin(); it != order.rend(); ++it)
      for (const BodyLink& link : owned_links[*it])
        graphs_[*it].nodes[link.node].bodies.push_back(std::move(graphs_[link.body]));
  }

  const std::string& file_;
  std::vector<DotCluster> clusters_;
  std::vector<Graph> graphs_;  // one a cluster
  DotNodeReader nodes_{file_};
  std::unordered_map<std::string_view, std::size_t> cluster_of_;
  std::unordered_map<std::string_view, NodePlace> place_of_;
  std::vector<BodyLink> links_;
  std::vector<bool> owned_;
};

}  // namespace

std::vector<Graph> read_dot(std::string_view text, const std::string& file) {
  std::vector<Graph> graphs = DotReader(text, file).run();
  for (Graph& graph : graphs) attach_known_accesses(graph);
  return graphs;
}

}  // namespace refrain
