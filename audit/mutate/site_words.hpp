// How a mutant's sentence names bytes, and the questions that several operators ask.
#pragma once

#include <fmt/format.h>

#include <string>

#include "graphs/graph.hpp"

namespace refrain::mutate {

/// `bytes 0 to 456 of split counters`
[[nodiscard]] inline std::string bytes_in(const Graph& graph, BufferId buffer, ByteRange range) {
  const std::string& name = graph.buffers[buffer].name;
  return fmt::format("bytes {} to {} of {}", range.begin, range.end,
                     name.empty() ? fmt::format("buffer {}", buffer) : name);
}

[[nodiscard]] inline bool is_touched(const Graph& graph, BufferId buffer) {
  for (const Node& node : graph.nodes)
    for (const NodeAccess& access : node.accesses)
      if (access.buffer == buffer) return true;
  return false;
}

}  // namespace refrain::mutate
