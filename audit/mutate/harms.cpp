#include "audit/mutate/harms.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "audit/mutate/paths.hpp"
#include "audit/mutate/site_words.hpp"

namespace refrain::mutate {
namespace {

using Harms = std::vector<Harm>;

bool is_made_on_device(Role role) {
  return role == Role::plan || role == Role::workspace || role == Role::scratch;
}

Dtype dtype_of(const Graph& graph, const NodeAccess& access) {
  return access.dtype == Dtype::unknown ? graph.buffers[access.buffer].dtype : access.dtype;
}

/// Which of the rules of dead buffers.
const char* rule_of_dead(const Graph& graph, const Buffer& dead) {
  if (dead.space == MemorySpace::pinned || dead.space == MemorySpace::pageable) return "RF403";
  const auto born_since = [&](const Buffer& other) { return other.born && *other.born > *dead.died; };
  for (const Buffer& other : graph.buffers)
    if (is_made_on_device(dead.role) && other.name == dead.name && other.bytes > dead.bytes && born_since(other))
      return "RF206";
  for (const Buffer& other : graph.buffers)
    if (born_since(other) && !other.died && other.base < dead.base + dead.bytes && dead.base < other.base + other.bytes)
      return "RF402";
  return "RF401";
}

void look_at_access(const Graph& graph, NodeId id, const NodeAccess& access, Harms& harms) {
  const Buffer& buffer = graph.buffers[access.buffer];
  const auto says = [&](const char* rule, const char* what) {
    harms.push_back(
        {{rule},
         fmt::format("{} touches {}, {}", describe(graph, id), bytes_in(graph, access.buffer, access.range), what)});
  };
  if (access.range.empty()) return;
  if (buffer.bytes > 0 && access.range.end > buffer.bytes) says("RF408", "past its end");
  if (access.mode != Mode::read && access.range.overlaps(buffer.reserved)) says("RF310", "reserved bytes among them");
  if (buffer.died) says(rule_of_dead(graph, buffer), "which is dead");
  const bool on_device = graph.nodes[id].kind == NodeKind::kernel || graph.nodes[id].kind == NodeKind::memset;
  if (buffer.space == MemorySpace::unknown || (on_device && buffer.space == MemorySpace::pageable))
    says("RF404", "which is no memory of the device");
}

void look_at_copy(const Graph& graph, NodeId id, Harms& harms) {
  const Node& node = graph.nodes[id];
  if (!node.copy) return;
  if (node.copy->src_space != MemorySpace::pageable && node.copy->dst_space != MemorySpace::pageable) return;
  const bool built = node.copy->src_space == MemorySpace::pageable &&
                     std::any_of(node.accesses.begin(), node.accesses.end(), [&](const NodeAccess& access) {
                       return access.mode != Mode::read &&
                              (is_made_on_device(access.role) || is_made_on_device(graph.buffers[access.buffer].role));
                     });
  harms.push_back({{built ? "RF205" : "RF103"}, describe(graph, id) + " copies pageable memory"});
}

void look_at_partials(const Graph& graph, NodeId id, Harms& harms) {
  const auto& accesses = graph.nodes[id].accesses;
  const bool quantised = std::any_of(accesses.begin(), accesses.end(), [&](const NodeAccess& access) {
    return access.mode != Mode::write && access.role == Role::kv_pool && dtype_of(graph, access) == Dtype::e4m3;
  });
  const bool halved = std::any_of(accesses.begin(), accesses.end(), [&](const NodeAccess& access) {
    const Dtype dtype = dtype_of(graph, access);
    return access.mode != Mode::read && access.role == Role::workspace &&
           (dtype == Dtype::fp16 || dtype == Dtype::bf16);
  });
  if (quantised && halved) harms.push_back({{"RF204"}, describe(graph, id) + " keeps E4M3 partial results in half"});
}

/// Whoever touches the memory comes before the node that gives it back.
void look_at_free(const Graph& graph, const Paths& paths, NodeId id, Harms& harms) {
  const auto& freed = graph.nodes[id].allocation;
  if (graph.nodes[id].kind != NodeKind::mem_free || !freed || freed->address == 0) return;
  for (NodeId user = 0; user < graph.nodes.size(); ++user)
    for (const NodeAccess& access : graph.nodes[user].accesses)
      if (graph.buffers[access.buffer].base == freed->address && !paths.lead(user, id))
        harms.push_back(
            {{"RF208"}, fmt::format("{} may touch what {} gave back", describe(graph, user), describe(graph, id))});
}

/// What `reader` reads ahead of its wait may be half written by the kernel right ahead of it, and by those that this
/// one has yet to wait for when it triggers.
void look_at_early_reads(const Graph& graph, NodeId reader, const Edge& edge, Harms& harms) {
  if (edge.kind != EdgeKind::programmatic) return;
  if (graph.nodes[edge.from].triggers_first == true)
    for (const Edge& before : graph.edges)
      if (before.to == edge.from) look_at_early_reads(graph, reader, before, harms);
  for (const NodeAccess& read : graph.nodes[reader].accesses)
    for (const NodeAccess& write : graph.nodes[edge.from].accesses)
      if (read.before_wait && write.mode != Mode::read && read.buffer == write.buffer &&
          !(read.tokens == CacheTokens::settled && write.tokens == CacheTokens::appended) &&
          std::max(read.range.begin, write.range.begin) < std::min(read.range.end, write.range.end))
        harms.push_back(
            {{"RF309"},
             fmt::format("{} reads too soon what {} writes", describe(graph, reader), describe(graph, edge.from))});
}

/// An edge that the kernel behind it does not wait for is none.
void look_at_edges(const Graph& graph, Harms& harms) {
  for (const Edge& edge : graph.edges) look_at_early_reads(graph, edge.to, edge, harms);
  Graph ordered = graph;
  std::erase_if(ordered.edges, [&](const Edge& edge) {
    return edge.kind == EdgeKind::programmatic && graph.nodes[edge.to].waits == false;
  });
  if (ordered.edges.size() == graph.edges.size()) return;
  for (const Harm& harm : content_harms(ordered)) harms.push_back({{"RF309"}, harm.why});
}

}  // namespace

std::vector<Harm> harms_of(const Graph& graph) {
  Harms harms = content_harms(graph);
  const Paths paths(graph);
  for (NodeId id = 0; id < graph.nodes.size(); ++id) {
    look_at_free(graph, paths, id, harms);
    for (const NodeAccess& access : graph.nodes[id].accesses) look_at_access(graph, id, access, harms);
    look_at_copy(graph, id, harms);
    look_at_partials(graph, id, harms);
    if (graph.nodes[id].kind == NodeKind::host) harms.push_back({{"RF105"}, describe(graph, id) + " is a host node"});
  }
  look_at_edges(graph, harms);
  if (graph.nodes.empty()) harms.push_back({{"RF605"}, "the graph does nothing"});
  return harms;
}

}  // namespace refrain::mutate
