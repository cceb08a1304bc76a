// The DOT language as far as dumps use it: clusters, nodes with a label and a
// shape, edges. It knows no CUDA. All views point into the text that was read,
// quotes taken off and escapes left in; a line number stands beside each thing.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace refrain {

struct DotNode {
  std::string_view name, label, shape;
  std::size_t line = 0;
};

struct DotEdge {
  std::string_view from, to;
  std::size_t line = 0;
};

/// A subgraph; `name` is its label where it has one. The first of a file is the digraph itself.
struct DotCluster {
  std::string_view name;
  std::size_t line = 0;
  std::vector<DotNode> nodes;
  std::vector<DotEdge> edges;
};

/// Throws Error{input} with file and line on anything that is no digraph.
[[nodiscard]] std::vector<DotCluster> parse_dot(std::string_view text, const std::string& file);

/// Throws Error{input}: `file: line N: expected <expected>, found <found>; <fix>`.
[[noreturn]] void fail_dot(const std::string& file, std::size_t line, const std::string& expected,
                           const std::string& found, const std::string& fix);

}  // namespace refrain
