// One event of a Chrome trace, with the fields that Kineto's events have in use.
// What kind of event it is stands in its category, which Kineto renamed in 2022;
// of one that the profiler did not make of CUDA, nothing but that is read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "traces/kineto/json_scanner.hpp"
#include "traces/row_payload.hpp"
#include "traces/trace_assembly.hpp"

namespace refrain {

/// What the reader makes of an event.
enum class EventKind : std::uint8_t { other, call, kernel, copy, fill, sync, range };

struct TraceEvent {
  EventKind kind = EventKind::other;
  std::string name;
  std::string pid, tid;   ///< numbers stand as their text
  std::string copy_kind;  ///< HIP's `HtoD`
  std::optional<std::uint64_t> start_ns, duration_ns;
  std::optional<std::uint64_t> correlation, device, stream, bytes, graph, graph_node, pointer;
  // Of a sync: the CUDA event that was waited for, and the call that recorded it, on which stream.
  std::optional<std::uint64_t> cuda_event, record_correlation, record_stream;
  RowPayload rows;  ///< args that a range was given, as `_RecordFunctionFast` takes keywords
};

/// The event whose object has just begun, to its end.
void read_event(JsonScanner& json, TraceEvent& event);

/// Microseconds in decimal digits as nanoseconds; nothing for less than 0, past the year 2096, or no number.
[[nodiscard]] std::optional<std::uint64_t> ns_of(std::string_view microseconds) noexcept;

/// By the `HtoD` in it.
[[nodiscard]] CopyDirection direction_of(std::string_view words) noexcept;
/// `Memcpy HtoD (Pageable -> Device)`: CUDA's direction and memory stand in the name alone.
void read_copy_name(std::string_view name, WorkEvent& copy) noexcept;

}  // namespace refrain
