// One event of a Chrome trace, with the fields that Kineto's events have in use.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "traces/trace_assembly.hpp"

namespace refrain {

struct TraceEvent {
  std::string phase, category, name;
  std::string pid, tid;                ///< numbers stand as their text
  std::optional<double> ts, duration;  ///< us
  std::optional<std::uint64_t> correlation, device, stream, bytes, graph, graph_node, pointer;

  void clear() { *this = TraceEvent(); }
};

/// What the reader makes of an event's category; Kineto renamed them in 2022.
enum class EventKind : std::uint8_t { other, call, kernel, copy, fill, sync, range };
[[nodiscard]] EventKind kind_of(const TraceEvent& event) noexcept;

/// `Memcpy HtoD (Pageable -> Device)`: direction and memory stand in the name alone.
void read_copy_name(std::string_view name, WorkEvent& copy) noexcept;

}  // namespace refrain
