// The two sweeps behind the facts analysis. Forward, in topological order, each
// segment holds the antichain of its latest writers with the facts that they
// leave, and that of its earliest establishers of `written`, which no write
// undoes. Backward, it holds its earliest writers, which shows those that are
// parallel to a consumer but come later in the order. What fails, and on which
// segment, is the result; why it fails is worked out from it (facts.cpp).
#pragma once

#include <optional>
#include <vector>

#include "audit/fact_mask.hpp"
#include "audit/segments.hpp"
#include "graphs/graph.hpp"
#include "graphs/topology.hpp"

namespace refrain {

/// Where a need fails, and the state that it met there.
struct BrokenSegment {
  /// `parallel`: a writer is not ordered against the consumer. `mixed`: two unordered writers come before it and
  /// only one leaves the fact. `stale`: the last writer does not leave the fact. `untouched`: no writer comes
  /// before it and the fact does not hold at the start. `not_left`: it holds at the start, and the end loses it.
  enum class State : std::uint8_t { parallel, mixed, stale, untouched, not_left };
  std::size_t segment = 0;
  State state = State::untouched;
  std::optional<NodeId> giver, writer;  ///< the parallel or last writer, by whether it leaves the fact
};

struct BrokenNeed {
  NodeId node = 0;
  NodeClaim need;
  std::vector<BrokenSegment> segments;
};

/// Every need that fails, in topological order of its node.
[[nodiscard]] std::vector<BrokenNeed> find_broken_needs(const Graph& graph, const Topology& topology,
                                                        const Segments& segments);

}  // namespace refrain
