// The parts of a refrain.graph/1 document that hold no nodes: buffers, accesses,
// claims, parameters, device work. Each function checks one object and throws
// Error{input} with its path; ids and ranges are checked against `graph.buffers`.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "graphs/graph.hpp"
#include "graphs/json_view.hpp"

namespace refrain {

/// Calls read(element, index) over an array that may be absent.
template <class Read>
void each(const JsonView& parent, const char* key, Read read) {
  const std::optional<JsonView> array = parent.find(key);
  if (!array) return;
  const std::size_t size = array->array_size();
  for (std::size_t i = 0; i < size; ++i) read(array->at(i), i);
}

inline void read_text(const JsonView& view, const char* key, std::string& out) {
  if (const auto text = view.find(key)) out = text->text();
}

inline void read_size(const JsonView& view, const char* key, std::uint64_t& out) {
  if (const auto size = view.find(key)) out = size->size();
}

inline void read_address(const JsonView& view, const char* key, Address& out) {
  if (const auto address = view.find(key)) out = address->address();
}

template <class Enum>
void read_word(const JsonView& view, const char* key, Enum& out) {
  if (const auto word = view.find(key)) out = word->template word<Enum>();
}

inline void check_id(const JsonView& view, std::size_t index) {
  const auto id = view.find("id");
  if (id && id->integer("an id", kSizeLimit) != index)
    id->fail(fmt::format("the id {}", index), "number the elements in order from 0, or leave the ids out");
}

[[nodiscard]] CaptureInfo read_capture(const JsonView& view);
[[nodiscard]] Buffer read_buffer(const JsonView& view, std::size_t index);
[[nodiscard]] Param read_param(const JsonView& view);
[[nodiscard]] NodeAccess read_access(const JsonView& view, const Graph& graph);
[[nodiscard]] NodeClaim read_claim(const JsonView& view, const Graph& graph);
[[nodiscard]] EntryFact read_entry(const JsonView& view, const Graph& graph);
void read_dims(const JsonView& view, const char* key, Dim3& out);
/// The copy, fill and allocation of a node, where it has them.
void read_device_work(const JsonView& view, Node& node);

}  // namespace refrain
