// The facts analysis straight from its definition, byte by byte and pair by
// pair: slow, and sharing no code with audit/facts.
#pragma once

#include <set>
#include <tuple>
#include <vector>

#include "graphs/graph.hpp"

namespace refrain::test {

/// {node, fact, buffer, begin, end} of every need that fails.
using FailedNeeds = std::set<std::tuple<NodeId, Fact, BufferId, std::uint64_t, std::uint64_t>>;
/// {smaller node id, larger node id, buffer}
using Races = std::set<std::tuple<NodeId, NodeId, BufferId>>;

[[nodiscard]] FailedNeeds reference_failures(const Graph& graph);
/// `exact_only`: those where both touch exactly the bytes that they share.
[[nodiscard]] Races reference_races(const Graph& graph, bool exact_only);

}  // namespace refrain::test
