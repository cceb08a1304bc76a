// Reads refrain.recording/1, plain or gzip, record by record. A bad record is a
// problem with a name and its place, and the reading goes on; a file that was cut
// or damaged is read as far as it is sound and is then not complete. Only a file
// without a header is an error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "traces/read_progress.hpp"
#include "traces/sink.hpp"

namespace refrain {

/// A record longer than this is a problem (read) or an error (written).
inline constexpr std::size_t kMaxRecordBytes = std::size_t{64} << 20;
/// So many bad records, and what is left is not worth reading.
inline constexpr std::uint64_t kMaxReadProblems = 1000;

/// Throws Error{input} with the file, the byte and what was expected when the file cannot be opened or its first
/// line is no header of a recording.
void read_recording(const std::string& path, RecordSink& sink, const ReadProgress& progress = {});

/// By the first bytes: gzip, or a line that names the schema.
[[nodiscard]] bool looks_like_recording(std::string_view head);

}  // namespace refrain
