// The records of refrain.recording/1, from one line each to a call of the sink.
// One table says which types there are; the writer's lines are in record_text.hpp.
// Every field but `type`, `api`, `kind` and the sequence number may be left out.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "traces/flat_record.hpp"
#include "traces/sink.hpp"

namespace refrain {

struct RecordType {
  const char* name;  ///< as in `"type":"call"`
  /// Throws Error{input} for a record that the schema does not allow; then nothing was pushed.
  void (*read)(FlatRecord& record, RecordSink& sink);
};

/// The type of that name; null when there is none.
[[nodiscard]] const RecordType* find_record_type(std::string_view name);

/// The first line. Throws Error{input} with the file and what was expected.
[[nodiscard]] RecordingHeader read_recording_header(std::string_view line, const std::string& file);

/// The last line: how many records stand between it and the header, where it says so.
[[nodiscard]] std::optional<std::uint64_t> read_end_record(FlatRecord& record);

/// The line says that it is the header of a recording, of whatever version.
[[nodiscard]] bool is_recording_header(std::string_view line) noexcept;

}  // namespace refrain
