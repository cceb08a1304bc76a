#include "traces/recording_writer.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "graphs/error.hpp"
#include "traces/record_text.hpp"
#include "traces/recording_reader.hpp"

namespace refrain {

void RecordingWriter::Close::operator()(gzFile_s* file) const noexcept {
  gzclose(file);
}

RecordingWriter::RecordingWriter(std::string path, const RecordingHeader& header) : path_(std::move(path)) {
  errno = 0;
  // w: replace; 1: the fastest level, as this runs beside what it records; e: not for child processes.
  file_.reset(gzopen(path_.c_str(), "wb1e"));
  if (file_ == nullptr)
    throw Error(ErrorKind::input, "writing", fmt::format("{}; check the folder", std::strerror(errno)), path_);
  write(header_text(header));
  flush();
}

void RecordingWriter::fail() {
  const int system = errno;
  int code = Z_OK;
  const char* said = file_ == nullptr ? nullptr : gzerror(file_.get(), &code);
  const std::string reason = file_ == nullptr              ? "the recording has ended or has failed before"
                             : system != 0                 ? std::strerror(system)
                             : said == nullptr || !said[0] ? "the disk did not take it all"
                                                           : said;
  file_.reset();
  throw Error(ErrorKind::input, "writing a recording", fmt::format("{}; it is readable up to the last flush", reason),
              path_);
}

void RecordingWriter::write(std::string_view text) {
  errno = 0;
  // In pieces: gzwrite counts in int.
  while (!text.empty()) {
    const std::string_view piece = text.substr(0, kFlushBytes);
    if (file_ == nullptr || gzwrite(file_.get(), piece.data(), static_cast<unsigned>(piece.size())) == 0) fail();
    text.remove_prefix(piece.size());
    unflushed_bytes_ += piece.size();
  }
}

void RecordingWriter::append_line(std::string_view line) {
  write(line);
  ++records_;
  if (++unflushed_records_ >= kFlushRecords || unflushed_bytes_ >= kFlushBytes) flush();
}

void RecordingWriter::append(const ApiEvent& event, std::string_view detail) {
  append_line(call_text(event, detail));
}

void RecordingWriter::append(const RangeEvent& event, std::string_view name) {
  append_line(range_text(event, name));
}

void RecordingWriter::append(const Buffer& buffer) {
  append_line(buffer_text(buffer));
}

void RecordingWriter::append(const Graph& graph, std::optional<GraphTie> tie) {
  const std::string line = graph_text(graph, tie);
  if (line.size() <= kMaxRecordBytes) return append_line(line);
  ++records_;
  throw Error(ErrorKind::input, "writing a recording",
              fmt::format("a graph of {} nodes is {} bytes of text, over the limit of {}; record it without names",
                          graph.nodes.size(), line.size(), kMaxRecordBytes),
              path_);
}

void RecordingWriter::append(const BindingEvent& event, std::string_view name) {
  append_line(binding_text(event, name));
}

void RecordingWriter::append(const ReplayCheck& check, std::string_view graph, std::string_view axis,
                             std::string_view fill) {
  append_line(check_text(check, graph, axis, fill));
}

void RecordingWriter::append(const EvidenceLimit& limit) {
  append_line(limit_text(limit));
}

void RecordingWriter::flush() {
  errno = 0;
  if (file_ == nullptr || gzflush(file_.get(), Z_SYNC_FLUSH) != Z_OK) fail();
  unflushed_records_ = unflushed_bytes_ = 0;
}

void RecordingWriter::finish() {
  write(end_text(records_));
  flush();
  errno = 0;
  // Closing writes the checksum, which a full disk may refuse.
  if (gzclose(file_.release()) == Z_OK) return;
  throw Error(ErrorKind::input, "writing a recording", std::strerror(errno != 0 ? errno : EIO), path_);
}

}  // namespace refrain
