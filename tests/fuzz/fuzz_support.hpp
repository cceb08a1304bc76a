// What the fuzz targets share: a file for readers that want a path, the rule about
// exceptions, and the judging of what was read. A reader may refuse with
// Error{input} or Error{usage}; any other exception, a fault that a sanitizer sees
// or a text that is no UTF-8 ends the target, and libFuzzer keeps the input.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "traces/read_progress.hpp"
#include "traces/recording.hpp"
#include "traces/sink.hpp"

namespace refrain::fuzz {

[[nodiscard]] inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

/// The path of this process's one input file, which now holds `bytes`. It goes when the process ends well.
[[nodiscard]] const std::string& file_with(std::string_view bytes);
/// The same file, empty of what was in it: for a target that writes it by itself.
[[nodiscard]] const std::string& fresh_file();

/// Runs it; swallows what a reader may throw, and nothing else.
void allow_refusal(const std::function<void()>& read);

/// A target got this far with its input: the reader took it and what was read was used. It does nothing, but in the
/// control targets it is a fault that the sanitizers must see.
void reached();

/// Audits the recording and writes a report of it, reviews it as well where it has a timeline. All of it comes again
/// with the same input.
void judge(Recording recording);
/// Likewise of graphs alone.
void judge(std::vector<Graph> graphs);
/// Reads with that reader, whatever the bytes look like, and judges.
void judge_trace(void (*read)(const std::string& path, RecordSink& sink, const ReadProgress& progress),
                 const std::string& path);

}  // namespace refrain::fuzz
