// Unordered conflicting accesses of one graph: a part of the facts analysis
// with a file of its own, because it needs no fact, only who touches what.
#pragma once

#include <vector>

#include "audit/facts.hpp"
#include "audit/segments.hpp"

namespace refrain {

/// Every race that is returned is one; a buffer with any has at least one here.
[[nodiscard]] std::vector<Race> find_races(const Graph& graph, const Topology& topology, const Segments& segments);

}  // namespace refrain
