// Every graph that is clean: all steps in several sizes and dtypes, the phases of
// both models, the good files of the rules, and one laid out by hand for what no step
// does. Captured on the host driver; nothing is replayed but the models' steps.
#pragma once

#include <string>
#include <vector>

#include "graphs/graph.hpp"

namespace refrain::test {

struct CleanGraph {
  std::string name;
  Graph graph;
};

[[nodiscard]] std::vector<CleanGraph> step_graphs();
[[nodiscard]] std::vector<CleanGraph> model_graphs();
/// Of good files whose nodes all have contracts.
[[nodiscard]] std::vector<CleanGraph> case_graphs();
/// Copies from and to pinned memory around a kernel.
[[nodiscard]] CleanGraph copying_graph();

}  // namespace refrain::test
