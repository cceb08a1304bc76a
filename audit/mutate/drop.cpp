// What is left out: a node, an edge, an entry fact, a promise.
#include <fmt/format.h>

#include "audit/mutate/edit.hpp"
#include "audit/mutate/operators.hpp"
#include "audit/mutate/site_words.hpp"

namespace refrain::mutate {

Sites drop_nodes(const Graph& clean, Random&) {
  Sites sites;
  for (NodeId id = 0; id < clean.nodes.size(); ++id)
    sites.push_back({fmt::format("drop {}", describe(clean, id)), [id](Graph& graph) { remove_node(graph, id); }});
  return sites;
}

Sites drop_edges(const Graph& clean, Random&) {
  Sites sites;
  for (std::size_t i = 0; i < clean.edges.size(); ++i) {
    const Edge& edge = clean.edges[i];
    sites.push_back({fmt::format("drop the edge from {} to {}", describe(clean, edge.from), describe(clean, edge.to)),
                     [i](Graph& graph) { graph.edges.erase(graph.edges.begin() + static_cast<std::ptrdiff_t>(i)); }});
  }
  return sites;
}

Sites drop_entries(const Graph& clean, Random&) {
  Sites sites;
  for (std::size_t i = 0; i < clean.entry.size(); ++i) {
    const EntryFact& entry = clean.entry[i];
    sites.push_back({fmt::format("drop the entry fact {} of {}, {}", to_string(entry.fact),
                                 bytes_in(clean, entry.buffer, entry.range), to_string(entry.origin)),
                     [i](Graph& graph) { graph.entry.erase(graph.entry.begin() + static_cast<std::ptrdiff_t>(i)); }});
  }
  return sites;
}

Sites drop_gives(const Graph& clean, Random&) {
  Sites sites;
  for (NodeId id = 0; id < clean.nodes.size(); ++id)
    for (std::size_t i = 0; i < clean.nodes[id].gives.size(); ++i) {
      const NodeClaim& give = clean.nodes[id].gives[i];
      sites.push_back({fmt::format("{} no longer gives {} on {}", describe(clean, id), to_string(give.fact),
                                   bytes_in(clean, give.buffer, give.range)),
                       [id, i](Graph& graph) {
                         auto& gives = graph.nodes[id].gives;
                         gives.erase(gives.begin() + static_cast<std::ptrdiff_t>(i));
                       }});
    }
  return sites;
}

}  // namespace refrain::mutate
