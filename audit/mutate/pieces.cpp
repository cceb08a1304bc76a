#include "audit/mutate/pieces.hpp"

#include <algorithm>
#include <map>

namespace refrain::mutate {
namespace {

/// Everything that a graph says about one buffer.
struct Said {
  struct OfNode {
    NodeId node = 0;
    const NodeAccess* access = nullptr;
    const NodeClaim *give = nullptr, *need = nullptr;

    [[nodiscard]] ByteRange range() const {
      return access != nullptr ? access->range : give != nullptr ? give->range : need->range;
    }
  };
  std::vector<OfNode> nodes;
  std::vector<const EntryFact*> entry;
};

std::vector<Said> said_in(const Graph& graph) {
  std::vector<Said> said(graph.buffers.size());
  for (NodeId id = 0; id < graph.nodes.size(); ++id) {
    for (const NodeAccess& access : graph.nodes[id].accesses)
      said[access.buffer].nodes.push_back({id, &access, nullptr, nullptr});
    for (const NodeClaim& give : graph.nodes[id].gives)
      said[give.buffer].nodes.push_back({id, nullptr, &give, nullptr});
    for (const NodeClaim& need : graph.nodes[id].needs)
      said[need.buffer].nodes.push_back({id, nullptr, nullptr, &need});
  }
  for (const EntryFact& entry : graph.entry) said[entry.buffer].entry.push_back(&entry);
  return said;
}

std::vector<std::uint64_t> cuts_of(const Said& said, std::uint64_t bytes) {
  std::vector<std::uint64_t> cuts;
  const auto cut = [&](ByteRange range) {
    if (range.empty()) return;
    cuts.push_back(bytes == 0 ? range.begin : std::min(range.begin, bytes));
    cuts.push_back(bytes == 0 ? range.end : std::min(range.end, bytes));
  };
  for (const auto& of_node : said.nodes) cut(of_node.range());
  for (const EntryFact* entry : said.entry) cut(entry->range);
  cut({0, bytes});
  std::sort(cuts.begin(), cuts.end());
  cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
  return cuts;
}

void add_access(Deed& deed, const NodeAccess& access) {
  deed.reads = deed.reads || access.mode != Mode::write;
  deed.only_reads = deed.only_reads || access.mode == Mode::read;
  deed.writes = deed.writes || access.mode == Mode::write || access.mode == Mode::read_write;
  deed.accumulates = deed.accumulates || access.mode == Mode::accumulate;
  deed.for_sure = deed.for_sure || (access.mode != Mode::read && access.reach == Reach::exact);
  if (access.mode != Mode::write) deed.needs.insert(Fact::written);
}

Piece piece_of(const Said& said, BufferId buffer, ByteRange range) {
  std::map<NodeId, Deed> deeds;
  for (const auto& of_node : said.nodes) {
    if (!of_node.range().covers(range)) continue;
    Deed& deed = deeds.try_emplace(of_node.node, Deed{of_node.node}).first->second;
    if (of_node.access != nullptr) add_access(deed, *of_node.access);
    if (of_node.give != nullptr) deed.gives.merge(implied_by(of_node.give->fact));
    if (of_node.need != nullptr) deed.needs.insert(of_node.need->fact);
  }
  Piece piece{buffer, range, {}, {}, {}};
  for (auto& [node, deed] : deeds) piece.deeds.push_back(std::move(deed));
  for (const EntryFact* entry : said.entry)
    if (entry->range.covers(range))
      (entry->origin == Origin::host_each_launch ? piece.each_launch : piece.before).merge(implied_by(entry->fact));
  return piece;
}

}  // namespace

std::set<Fact> implied_by(Fact fact) {
  if (fact == Fact::zeroed) return {Fact::zeroed, Fact::written, Fact::finite};
  return {fact};
}

std::vector<Piece> pieces_of(const Graph& graph) {
  std::vector<Piece> pieces;
  const std::vector<Said> said = said_in(graph);
  for (BufferId buffer = 0; buffer < said.size(); ++buffer) {
    if (said[buffer].nodes.empty()) continue;
    const auto cuts = cuts_of(said[buffer], graph.buffers[buffer].bytes);
    for (std::size_t i = 1; i < cuts.size(); ++i)
      pieces.push_back(piece_of(said[buffer], buffer, {cuts[i - 1], cuts[i]}));
  }
  return pieces;
}

}  // namespace refrain::mutate
