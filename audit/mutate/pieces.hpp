// One buffer of a graph cut into pieces of bytes that every access, claim and entry
// fact takes whole or not at all, with what each node does to a piece.
#pragma once

#include <set>
#include <vector>

#include "audit/mutate/paths.hpp"
#include "graphs/graph.hpp"

namespace refrain::mutate {

/// What one node does to one piece.
struct Deed {
  NodeId node = 0;
  bool reads = false, writes = false, accumulates = false;  ///< `writes`: plainly
  bool only_reads = false;          ///< in one access at least: what an accumulation beside it races with
  bool for_sure = false;            ///< it writes every byte
  std::set<Fact> gives{}, needs{};  ///< with what a fact implies

  [[nodiscard]] bool changes() const noexcept { return writes || accumulates; }
  [[nodiscard]] bool establishes() const { return for_sure || gives.contains(Fact::written); }
};

struct Piece {
  BufferId buffer = 0;
  ByteRange range;
  std::vector<Deed> deeds;             // by node id
  std::set<Fact> each_launch, before;  // entry facts: by the host, and from before the first replay
};

/// `fact` and what it implies.
[[nodiscard]] std::set<Fact> implied_by(Fact fact);

/// Bytes past a buffer's end have no piece.
[[nodiscard]] std::vector<Piece> pieces_of(const Graph& graph);

}  // namespace refrain::mutate
