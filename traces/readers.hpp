// Files in, records out. A reader is {name, sniff, read}; one table holds them
// all. Graphs alone (JSON, DOT) have a table of their own, graphs/readers.hpp;
// load_recording knows both and is what programs call.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "traces/read_progress.hpp"
#include "traces/recording.hpp"
#include "traces/sink.hpp"

namespace refrain {

struct TraceReader {
  const char* name;
  bool (*sniff)(std::string_view head);
  /// Throws Error{input} for a file that is not what it claims to be.
  void (*read)(const std::string& path, RecordSink& sink, const ReadProgress& progress);
};

/// Every format that holds a timeline, in the order in which they are tried.
[[nodiscard]] std::span<const TraceReader> trace_readers();

/// The file as a recording named after its path, its timeline cut into steps; one without a timeline when it holds
/// graphs alone.
/// Throws Error{input} for a file that is missing, unreadable, empty, or in no format that a reader knows.
[[nodiscard]] Recording load_recording(const std::string& path, const ReadProgress& progress = {});

}  // namespace refrain
