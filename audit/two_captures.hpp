// Two captures of the same step, compared: the words of their kernels' parameters
// that differ though nothing that moved accounts for it. A word that leads into a
// buffer in both captures is a pointer, and pointers move; any other word that
// differs was a number of the host's at capture time, and every replay uses it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "graphs/graph.hpp"

namespace refrain {

/// One word of one parameter, as both captures have it.
struct BakedWord {
  NodeId node = 0;
  std::size_t param = 0;
  std::uint64_t offset = 0;  ///< byte in the parameter
  std::uint32_t size = 4;    ///< bytes: 1, 2, 4 or 8
  std::uint64_t first = 0, second = 0;
  std::string buffer;  ///< both lead into it, to different bytes: a pointer that depends on a length
};

struct CaptureComparison {
  std::vector<BakedWord> baked;
  /// Words that look like addresses in both captures and lead into no buffer: nobody can tell whether they moved.
  std::vector<BakedWord> doubtful;
};

/// The same kinds, kernels and parameter blocks in the same order: only then do words stand beside their like.
[[nodiscard]] bool same_nodes(const Graph& a, const Graph& b);
/// Of graphs with the same nodes; nested bodies are left alone.
[[nodiscard]] CaptureComparison compare_captures(const Graph& first, const Graph& second);

}  // namespace refrain
