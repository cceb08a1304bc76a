// Which graph a launch of a timeline runs, where the recording holds it.
#pragma once

#include <unordered_map>

#include "audit/graph_lives.hpp"

namespace refrain {

/// By launch; launches of graphs that no record describes are missing.
[[nodiscard]] inline std::unordered_map<const ApiEvent*, const Graph*> launched_graphs(const Recording& recording) {
  std::unordered_map<const ApiEvent*, const Graph*> graphs;
  const std::vector<GraphLife> lives = lives_of(recording);
  for (std::size_t i = 0; i < lives.size(); ++i) {
    if (!lives[i].tied) continue;
    for (const ExecLife& exec : lives[i].execs)
      for (const ApiEvent* launch : exec.launches) graphs.emplace(launch, &recording.graphs[i]);
  }
  return graphs;
}

}  // namespace refrain
