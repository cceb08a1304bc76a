#include "graphs/readers.hpp"

#include <array>

#include "graphs/text.hpp"

namespace refrain {
namespace {

bool looks_like_json(std::string_view head) {
  return trim(skip_byte_order_mark(head)).starts_with('{');
}

std::vector<Graph> read_json(std::string_view text, const std::string& file) {
  std::vector<Graph> graphs;
  graphs.push_back(read_graph_json(text, file));
  return graphs;
}

bool starts_with_word(std::string_view text, std::string_view word) {
  if (!text.starts_with(word)) return false;
  text.remove_prefix(word.size());
  return text.empty() || text.front() == '{' || text.front() == '"' || trim(text.substr(0, 1)).empty();
}

bool looks_like_dot(std::string_view head) {
  std::string_view text = trim(skip_byte_order_mark(head));
  if (starts_with_word(text, "strict")) text = trim(text.substr(6));
  return starts_with_word(text, "digraph");
}

constexpr std::array<GraphReader, 2> kReaders{{
    {.name = "refrain.graph/1 JSON", .sniff = looks_like_json, .read = read_json},
    {.name = "DOT dump", .sniff = looks_like_dot, .read = read_dot},
}};

}  // namespace

std::span<const GraphReader> graph_readers() {
  return kReaders;
}

}  // namespace refrain
