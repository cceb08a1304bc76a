// Reading and writing graphs as text. A reader is {name, sniff, read}: sniff
// looks at the first bytes, read takes the whole text. A bad file is an
// Error{input} with the file, the line or byte, what was expected and what to do.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graphs/graph.hpp"

namespace refrain {

/// Bodies inside bodies: the outermost graph is level 0 and no reader goes past this level.
inline constexpr std::size_t kMaxGraphNesting = 64;

/// `refrain.graph/1`. Throws Error{input} on anything that the schema does not
/// allow: unknown kinds, ids out of range, cycles, sizes outside [0, 2^63), nesting over 64.
[[nodiscard]] Graph read_graph_json(std::string_view text, const std::string& file);

/// The same graph as JSON text, pretty-printed, ending in a newline. `"schema"` comes first.
[[nodiscard]] std::string write_graph_json(const Graph& graph);

/// cudaGraphDebugDotPrint output, any flag set: one Graph a cluster that is not the body of another;
/// bodies of child and conditional nodes are nested. Throws Error{input}.
[[nodiscard]] std::vector<Graph> read_dot(std::string_view text, const std::string& file);

/// The graph as cudaGraphDebugDotPrint would dump it verbosely, for Graphviz and for read_dot. Contracts, buffers and
/// parameters have no place in that format.
[[nodiscard]] std::string write_dot(const Graph& graph);

struct GraphReader {
  const char* name;
  bool (*sniff)(std::string_view head);
  std::vector<Graph> (*read)(std::string_view text, const std::string& file);
};

/// Every format that holds graphs, in the order in which they are tried.
[[nodiscard]] std::span<const GraphReader> graph_readers();

}  // namespace refrain
