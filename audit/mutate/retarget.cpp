// Accesses that go elsewhere: to another buffer, past the end, into reserved bytes.
#include <utility>

#include "audit/mutate/operators.hpp"
#include "audit/mutate/site_words.hpp"

namespace refrain::mutate {
namespace {

/// Not where a write lands in reserved bytes: that is a fault more, and write_reserved()'s to make.
std::vector<BufferId> targets(const Graph& graph, const NodeAccess& access) {
  std::vector<BufferId> fitting;
  for (BufferId id = 0; id < graph.buffers.size(); ++id) {
    const Buffer& buffer = graph.buffers[id];
    const bool is_reserved = access.mode != Mode::read && buffer.reserved.overlaps(access.range);
    if (id != access.buffer && buffer.bytes >= access.range.end && !buffer.died && !is_reserved) fitting.push_back(id);
  }
  return fitting;
}

/// A wrong pointer takes along what the op needs and gives there.
void retarget(Node& node, std::size_t index, BufferId to) {
  NodeAccess& access = node.accesses[index];
  const auto follow = [&](std::vector<NodeClaim>& claims) {
    for (NodeClaim& claim : claims)
      if (claim.buffer == access.buffer && access.range.covers(claim.range)) claim.buffer = to;
  };
  if (access.mode != Mode::read) follow(node.gives);
  if (access.mode != Mode::write) follow(node.needs);
  access.buffer = to;
}

}  // namespace

Sites retarget_accesses(const Graph& clean, Random& random) {
  Sites sites;
  for (NodeId id = 0; id < clean.nodes.size(); ++id)
    for (std::size_t i = 0; i < clean.nodes[id].accesses.size(); ++i) {
      const NodeAccess& access = clean.nodes[id].accesses[i];
      // One that reads and writes would lack two things at two places.
      if (access.mode != Mode::read && access.mode != Mode::write) continue;
      const auto fitting = targets(clean, access);
      if (fitting.empty()) continue;
      const BufferId to = fitting[random() % fitting.size()];
      sites.push_back({fmt::format("{} {} {} instead of {}", describe(clean, id), to_string(access.mode),
                                   bytes_in(clean, to, access.range), bytes_in(clean, access.buffer, access.range)),
                       [id, i, to](Graph& graph) { retarget(graph.nodes[id], i, to); }});
    }
  return sites;
}

Sites reach_past_ends(const Graph& clean, Random& random) {
  Sites sites;
  for (NodeId id = 0; id < clean.nodes.size(); ++id)
    for (std::size_t i = 0; i < clean.nodes[id].accesses.size(); ++i) {
      const NodeAccess& access = clean.nodes[id].accesses[i];
      const std::uint64_t bytes = clean.buffers[access.buffer].bytes;
      // One that ends before the end would also reach into what lies between.
      if (bytes == 0 || access.range.empty() || access.range.end != bytes) continue;
      const std::uint64_t end = bytes + 1 + random() % 4096;
      sites.push_back({fmt::format("{} {} {}, past its end", describe(clean, id), to_string(access.mode),
                                   bytes_in(clean, access.buffer, {access.range.begin, end})),
                       [id, i, end](Graph& graph) { graph.nodes[id].accesses[i].range.end = end; }});
    }
  return sites;
}

Sites write_reserved(const Graph& clean, Random&) {
  Sites sites;
  for (NodeId id = 0; id < clean.nodes.size(); ++id)
    for (std::size_t i = 0; i < clean.nodes[id].accesses.size(); ++i) {
      const NodeAccess& access = clean.nodes[id].accesses[i];
      const ByteRange reserved = clean.buffers[access.buffer].reserved;
      if (reserved.empty() || access.mode == Mode::read || access.range.begin < reserved.end) continue;
      sites.push_back(
          {fmt::format("{} writes {}", describe(clean, id),
                       bytes_in(clean, access.buffer, {reserved.begin, access.range.end})),
           [id, i, begin = reserved.begin](Graph& graph) { graph.nodes[id].accesses[i].range.begin = begin; }});
    }
  return sites;
}

}  // namespace refrain::mutate
