// What is wrong with a graph, straight from what contracts mean: piece of memory by
// piece, node against node. It shares no code with the facts analysis and the rules,
// and is slow: a mutant in which it finds no harm is equivalent, and one in which it
// does must be killed by a rule that it names. Bodies of nodes are not looked into.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "graphs/graph.hpp"

namespace refrain::mutate {

struct Harm {
  std::set<std::string> rules;  ///< any of them says it
  std::string why;              ///< one sentence
};

/// Every graph of contracts only; a node without one is taken to touch nothing.
[[nodiscard]] std::vector<Harm> harms_of(const Graph& graph);

/// Of the bytes alone: what is read, needed, left and raced for.
[[nodiscard]] std::vector<Harm> content_harms(const Graph& graph);

}  // namespace refrain::mutate
