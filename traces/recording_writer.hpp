// Writes refrain.recording/1 as gzip JSON lines while a program runs. What has
// been flushed is readable whatever becomes of the writer; a file without its end
// record is one whose writer died. Not for use by two threads at once, and not
// across a fork.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "traces/recording.hpp"
#include "traces/sink.hpp"

struct gzFile_s;

namespace refrain {

/// Flushed by itself after so many records, or so many bytes of text.
inline constexpr std::uint64_t kFlushRecords = 256;
inline constexpr std::uint64_t kFlushBytes = std::uint64_t{1} << 20;

/// Everything throws Error{input} when the file cannot be made or the disk does not take it; after that the writer
/// refuses everything.
class RecordingWriter {
 public:
  /// Replaces what `path` holds.
  explicit RecordingWriter(std::string path, const RecordingHeader& header = {});
  /// Closes the file and ends nothing; errors go unsaid.
  ~RecordingWriter() = default;

  // Records should come in the order of their sequence numbers; a range or a buffer when its last is known.
  void append(const ApiEvent& event, std::string_view detail);
  void append(const RangeEvent& event, std::string_view name);
  void append(const Buffer& buffer);
  /// Throws Error{input} for a graph whose text is longer than a reader takes; the recording goes on without it, and
  /// its end will tell that one record is missing.
  void append(const Graph& graph, std::optional<GraphTie> tie);
  void append(const BindingEvent& event, std::string_view name);
  void append(const ReplayCheck& check, std::string_view graph, std::string_view axis, std::string_view fill);
  void append(const EvidenceLimit& limit);

  void flush();
  /// Writes the end record and closes the file; nothing can follow.
  void finish();

  [[nodiscard]] std::uint64_t records() const noexcept { return records_; }

 private:
  struct Close {
    void operator()(gzFile_s* file) const noexcept;
  };

  void append_line(std::string_view line);
  void write(std::string_view text);
  [[noreturn]] void fail();

  std::string path_;
  std::unique_ptr<gzFile_s, Close> file_;
  std::uint64_t records_ = 0, unflushed_records_ = 0, unflushed_bytes_ = 0;
};

/// The whole recording in sequence order, by way of a temporary file beside `path`: whole or not at all. A recording
/// that is not complete, or was read with problems, gets no end record; a graph keeps its first tie. Throws
/// Error{input}.
void write_recording(const std::string& path, const Recording& recording, const DeviceLine& device);

}  // namespace refrain
