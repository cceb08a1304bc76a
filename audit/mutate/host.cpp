// Device work that the host does, and kernels that start before they may.
#include <algorithm>

#include "audit/mutate/edit.hpp"
#include "audit/mutate/operators.hpp"
#include "audit/mutate/site_words.hpp"

namespace refrain::mutate {
namespace {

/// A copy ahead of the node writes what the node wrote, and leaves what it left.
void fill_by_copy(Graph& graph, NodeId id, std::size_t index) {
  Node copy;
  copy.kind = NodeKind::memcpy;
  copy.name = "memcpy";
  copy.has_contract = true;
  Node& node = graph.nodes[id];
  const NodeAccess access = node.accesses[index];
  node.accesses.erase(node.accesses.begin() + static_cast<std::ptrdiff_t>(index));
  copy.accesses = {access};
  const auto moved = [&](const NodeClaim& give) {
    return give.buffer == access.buffer && access.range.covers(give.range);
  };
  std::copy_if(node.gives.begin(), node.gives.end(), std::back_inserter(copy.gives), moved);
  std::erase_if(node.gives, moved);
  copy.copy = CopyInfo{beyond(graph), graph.buffers[access.buffer].base + access.range.begin, access.range.size(),
                       MemorySpace::pageable, MemorySpace::device};
  put_ahead(graph, std::move(copy), id);
}

}  // namespace

Sites make_host_nodes(const Graph& clean, Random&) {
  Sites sites;
  for (NodeId id = 0; id < clean.nodes.size(); ++id)
    if (clean.nodes[id].kind == NodeKind::kernel)
      sites.push_back({fmt::format("{} is a host node", describe(clean, id)),
                       [id](Graph& graph) { graph.nodes[id].kind = NodeKind::host; }});
  return sites;
}

Sites build_on_host(const Graph& clean, Random&) {
  Sites sites;
  for (NodeId id = 0; id < clean.nodes.size(); ++id)
    for (std::size_t i = 0; i < clean.nodes[id].accesses.size(); ++i) {
      const NodeAccess& access = clean.nodes[id].accesses[i];
      if (clean.nodes[id].kind != NodeKind::kernel || access.mode != Mode::write || access.reach != Reach::exact ||
          access.range.empty())
        continue;
      sites.push_back({fmt::format("a copy from pageable memory fills {} instead of {}",
                                   bytes_in(clean, access.buffer, access.range), describe(clean, id)),
                       [id, i](Graph& graph) { fill_by_copy(graph, id, i); }});
    }
  return sites;
}

Sites make_programmatic(const Graph& clean, Random&) {
  Sites sites;
  for (std::size_t i = 0; i < clean.edges.size(); ++i) {
    const Edge& edge = clean.edges[i];
    if (clean.nodes[edge.from].kind != NodeKind::kernel || clean.nodes[edge.to].kind != NodeKind::kernel) continue;
    for (const bool waits : {false, true})
      sites.push_back(
          {fmt::format("the edge from {} to {} is programmatic, and the second {}", describe(clean, edge.from),
                       describe(clean, edge.to), waits ? "waits" : "does not wait"),
           [i, waits](Graph& graph) {
             graph.edges[i].kind = EdgeKind::programmatic;
             graph.nodes[graph.edges[i].to].waits = waits;
           }});
  }
  return sites;
}

Sites trigger_first(const Graph& clean, Random&) {
  Sites sites;
  for (std::size_t i = 0; i < clean.edges.size(); ++i)
    for (std::size_t j = 0; j < clean.edges.size(); ++j) {
      const NodeId ahead = clean.edges[i].from, between = clean.edges[i].to, behind = clean.edges[j].to;
      const auto is_kernel = [&](NodeId id) { return clean.nodes[id].kind == NodeKind::kernel; };
      if (clean.edges[j].from != between || !is_kernel(ahead) || !is_kernel(between) || !is_kernel(behind)) continue;
      for (const bool first : {false, true})
        sites.push_back(
            {fmt::format("{}, {} and {} start early, and the second triggers {} it waits", describe(clean, ahead),
                         describe(clean, between), describe(clean, behind), first ? "before" : "after"),
             [i, j, between, behind, first](Graph& graph) {
               graph.edges[i].kind = graph.edges[j].kind = EdgeKind::programmatic;
               graph.nodes[between].waits = graph.nodes[behind].waits = true;
               graph.nodes[between].triggers_first = first;
             }});
    }
  return sites;
}

Sites append_anywhere(const Graph& clean, Random&) {
  Sites sites;
  for (NodeId id = 0; id < clean.nodes.size(); ++id)
    for (std::size_t i = 0; i < clean.nodes[id].accesses.size(); ++i) {
      const NodeAccess& access = clean.nodes[id].accesses[i];
      if (access.tokens != CacheTokens::appended) continue;
      sites.push_back({fmt::format("{} writes any token in {} and not only those that it appends", describe(clean, id),
                                   bytes_in(clean, access.buffer, access.range)),
                       [id, i](Graph& graph) { graph.nodes[id].accesses[i].tokens = CacheTokens::any; }});
    }
  return sites;
}

}  // namespace refrain::mutate
