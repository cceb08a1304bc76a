// What covers a part of its bytes: a write, a promise, an entry fact, a buffer.
#include <algorithm>

#include "audit/mutate/operators.hpp"
#include "audit/mutate/site_words.hpp"

namespace refrain::mutate {
namespace {

/// Half, all but the last bytes, or all but the first ones.
ByteRange part_of(ByteRange range, Random& random) {
  const std::uint64_t few = std::max<std::uint64_t>(1, std::min<std::uint64_t>(4, range.size() / 2));
  switch (random() % 3) {
    case 0: return {range.begin, range.begin + range.size() / 2};
    case 1: return {range.begin, range.end - few};
    default: return {range.begin + few, range.end};
  }
}

/// What a node gives on the bytes that it no longer writes is gone too.
void cut_gives(Node& node, BufferId buffer, ByteRange whole, ByteRange left) {
  for (NodeClaim& give : node.gives)
    if (give.buffer == buffer && whole.covers(give.range))
      give.range = {std::max(give.range.begin, left.begin), std::min(give.range.end, left.end)};
  std::erase_if(node.gives, [](const NodeClaim& give) { return give.range.empty(); });
}

}  // namespace

Sites shorten_writes(const Graph& clean, Random& random) {
  Sites sites;
  for (NodeId id = 0; id < clean.nodes.size(); ++id)
    for (std::size_t i = 0; i < clean.nodes[id].accesses.size(); ++i) {
      const NodeAccess& access = clean.nodes[id].accesses[i];
      if (access.mode == Mode::read || access.range.size() < 2) continue;
      const ByteRange left = part_of(access.range, random);
      sites.push_back(
          {fmt::format("{} writes no more than {}", describe(clean, id), bytes_in(clean, access.buffer, left)),
           [id, i, left](Graph& graph) {
             Node& node = graph.nodes[id];
             cut_gives(node, node.accesses[i].buffer, node.accesses[i].range, left);
             node.accesses[i].range = left;
           }});
    }
  return sites;
}

Sites shorten_gives(const Graph& clean, Random& random) {
  Sites sites;
  for (NodeId id = 0; id < clean.nodes.size(); ++id)
    for (std::size_t i = 0; i < clean.nodes[id].gives.size(); ++i) {
      const NodeClaim& give = clean.nodes[id].gives[i];
      if (give.range.size() < 2) continue;
      const ByteRange left = part_of(give.range, random);
      sites.push_back({fmt::format("{} gives {} on {} alone", describe(clean, id), to_string(give.fact),
                                   bytes_in(clean, give.buffer, left)),
                       [id, i, left](Graph& graph) { graph.nodes[id].gives[i].range = left; }});
    }
  return sites;
}

Sites shorten_entries(const Graph& clean, Random& random) {
  Sites sites;
  for (std::size_t i = 0; i < clean.entry.size(); ++i) {
    const EntryFact& entry = clean.entry[i];
    if (entry.range.size() < 2) continue;
    const ByteRange left = part_of(entry.range, random);
    sites.push_back(
        {fmt::format("the entry fact {} holds on {} alone", to_string(entry.fact), bytes_in(clean, entry.buffer, left)),
         [i, left](Graph& graph) { graph.entry[i].range = left; }});
  }
  return sites;
}

Sites shorten_buffers(const Graph& clean, Random& random) {
  Sites sites;
  for (BufferId id = 0; id < clean.buffers.size(); ++id) {
    const std::uint64_t bytes = clean.buffers[id].bytes;
    if (bytes < 2) continue;
    const std::uint64_t left = random() % 2 == 0 ? bytes / 2 : bytes - 1;
    sites.push_back({fmt::format("nothing follows {}", bytes_in(clean, id, {0, left})),
                     [id, left](Graph& graph) { graph.buffers[id].bytes = left; }});
  }
  return sites;
}

}  // namespace refrain::mutate
