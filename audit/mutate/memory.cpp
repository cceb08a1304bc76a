// Buffers that are not what they were at capture: of another kind of memory, dead,
// dead with a tenant, grown; and partial results in half precision.
#include <algorithm>

#include "audit/mutate/edit.hpp"
#include "audit/mutate/operators.hpp"
#include "audit/mutate/site_words.hpp"

namespace refrain::mutate {
namespace {

/// An event later than all that the graph knows of.
std::uint64_t later_than(const Graph& graph) {
  std::uint64_t last = 0;
  for (const Buffer& buffer : graph.buffers) last = std::max({last, buffer.born.value_or(0), buffer.died.value_or(0)});
  return last + 1;
}

std::string name_of_buffer(const Graph& graph, BufferId id) {
  return graph.buffers[id].name.empty() ? fmt::format("buffer {}", id) : graph.buffers[id].name;
}

bool lives(const Graph& graph, BufferId id) {
  return !graph.buffers[id].died && graph.buffers[id].base != 0 && graph.buffers[id].bytes > 0;
}

Sites of_buffers(const Graph& clean, const char* what, void (*change)(Graph&, BufferId)) {
  Sites sites;
  for (BufferId id = 0; id < clean.buffers.size(); ++id)
    if (lives(clean, id))
      sites.push_back(
          {fmt::format("{} {}", name_of_buffer(clean, id), what), [id, change](Graph& graph) { change(graph, id); }});
  return sites;
}

}  // namespace

Sites retype_spaces(const Graph& clean, Random&) {
  Sites sites =
      of_buffers(clean, "is pageable memory", [](Graph& g, BufferId b) { g.buffers[b].space = MemorySpace::pageable; });
  for (Site& site : of_buffers(clean, "is memory that nobody knows",
                               [](Graph&g, BufferId b) { g.buffers[b].space = MemorySpace::unknown; }))
    sites.push_back(std::move(site));
  return sites;
}

Sites retype_copies(const Graph& clean, Random&) {
  Sites sites;
  for (NodeId id = 0; id < clean.nodes.size(); ++id) {
    const auto& copy = clean.nodes[id].copy;
    if (!copy) continue;
    if (copy->src_space == MemorySpace::pinned)
      sites.push_back({fmt::format("{} reads pageable memory", describe(clean, id)),
                       [id](Graph& graph) { graph.nodes[id].copy->src_space = MemorySpace::pageable; }});
    if (copy->dst_space == MemorySpace::pinned)
      sites.push_back({fmt::format("{} writes pageable memory", describe(clean, id)),
                       [id](Graph& graph) { graph.nodes[id].copy->dst_space = MemorySpace::pageable; }});
  }
  return sites;
}

Sites kill_buffers(const Graph& clean, Random&) {
  return of_buffers(clean, "dies before the launch",
                    [](Graph& graph, BufferId id) { graph.buffers[id].died = later_than(graph); });
}

Sites reuse_addresses(const Graph& clean, Random&) {
  return of_buffers(clean, "dies before the launch, and another buffer is born there", [](Graph& graph, BufferId id) {
    const std::uint64_t now = later_than(graph);
    Buffer tenant = graph.buffers[id];
    tenant.name = "tenant";
    tenant.allocation = 0;
    tenant.born = now + 1;
    graph.buffers[id].died = now;
    graph.buffers.push_back(std::move(tenant));
  });
}

Sites grow_workspaces(const Graph& clean, Random&) {
  Sites sites;
  for (BufferId id = 0; id < clean.buffers.size(); ++id) {
    const Buffer& buffer = clean.buffers[id];
    const bool grows = buffer.role == Role::workspace || buffer.role == Role::scratch || buffer.role == Role::plan;
    if (!grows || buffer.name.empty() || !lives(clean, id)) continue;
    sites.push_back({fmt::format("{} grows before the launch", buffer.name), [id](Graph& graph) {
                       const std::uint64_t now = later_than(graph);
                       Buffer larger = graph.buffers[id];
                       larger.base = beyond(graph);
                       larger.bytes *= 2;
                       larger.allocation = 0;
                       larger.born = now + 1;
                       graph.buffers[id].died = now;
                       graph.buffers.push_back(std::move(larger));
                     }});
  }
  return sites;
}

Sites halve_partials(const Graph& clean, Random&) {
  Sites sites;
  for (NodeId id = 0; id < clean.nodes.size(); ++id)
    for (std::size_t i = 0; i < clean.nodes[id].accesses.size(); ++i) {
      const NodeAccess& access = clean.nodes[id].accesses[i];
      if (access.role != Role::workspace || access.mode == Mode::read || access.dtype != Dtype::fp32) continue;
      sites.push_back({fmt::format("{} writes {} as fp16", describe(clean, id), name_of_buffer(clean, access.buffer)),
                       [id, i, buffer = access.buffer](Graph& graph) {
                         graph.nodes[id].accesses[i].dtype = Dtype::fp16;
                         graph.buffers[buffer].dtype = Dtype::fp16;
                       }});
    }
  return sites;
}

}  // namespace refrain::mutate
