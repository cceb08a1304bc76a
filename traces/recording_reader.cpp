#include "traces/recording_reader.hpp"

#include <fmt/format.h>

#include <optional>

#include "graphs/error.hpp"
#include "graphs/text.hpp"
#include "traces/flat_record.hpp"
#include "traces/line_source.hpp"
#include "traces/record_json.hpp"

namespace refrain {
namespace {

constexpr std::size_t kMaxHeaderBytes = std::size_t{1} << 20;

class Reading {
 public:
  Reading(const std::string& path, RecordSink& sink, const ReadProgress& progress)
      : path_(path), sink_(sink), lines_(path, progress) {}

  void run() {
    header();
    std::string_view line;
    bool stopped = false;
    for (LineSource::Next next; !stopped && (next = lines_.next(line, kMaxRecordBytes)) != LineSource::Next::end;) {
      if (next == LineSource::Next::too_long)
        bad_line("line-too-long", fmt::format("a record is longer than {} bytes and was skipped", kMaxRecordBytes));
      else if (!trim(line).empty())
        record(line);
      stopped = problems_ >= kMaxReadProblems;
    }
    finish(stopped);
  }

 private:
  void header() {
    std::string_view line;
    const LineSource::Next next = lines_.next(line, kMaxHeaderBytes);
    if (next == LineSource::Next::line) {
      // A gzip file may hold anything; a plain one has been recognised already, or says itself what it lacks.
      if (lines_.gzip() && !is_recording_header(line)) refuse(fmt::format("found \"{}\"", excerpt(line)));
      return sink_.header(read_recording_header(skip_byte_order_mark(line), path_));
    }
    if (next == LineSource::Next::too_long) refuse(fmt::format("found a line of over {} bytes", kMaxHeaderBytes));
    if (lines_.corrupt()) refuse("found damaged gzip data");
    if (lines_.offset() == 0) refuse("found an empty file");
    refuse("found the end of the file inside its first line");
  }

  [[noreturn]] void refuse(const std::string& found) const {
    const char* unpack = lines_.gzip() ? "; if it is a graph, unpack it with gunzip" : "";
    throw Error(
        ErrorKind::input, fmt::format("byte {}{}", lines_.offset(), lines_.gzip() ? " of the unpacked text" : ""),
        fmt::format("expected the first line of a refrain.recording/1, {}; record again{}", found, unpack), path_);
  }

  void record(std::string_view line) {
    std::string type;
    try {
      fields_.parse(line);
      type = fields_.text("type").value_or("");
      if (end_) return problem("record-after-end", "a record stands behind the end of the recording and was skipped");
      if (type == "end") {
        end_ = true;
        promised_ = read_end_record(fields_);
        return;
      }
      ++records_;
      const RecordType* known = find_record_type(type);
      if (known == nullptr)
        return problem("unknown-record",
                       fmt::format("a record is of the type \"{}\", which this version does not know: what it says "
                                   "is missing from what is reported",
                                   excerpt(type)));
      known->read(fields_, sink_);
    } catch (const Error& error) {
      if (type.empty() && !end_) ++records_;
      problem(
          type == "graph" ? "bad-graph" : "bad-record",
          fmt::format("a record could not be read ({}): what it says is missing from what is reported", error.what()));
    }
  }

  void bad_line(const char* name, const std::string& sentence) {
    ++records_;
    problem(name, sentence);
  }

  void problem(const char* name, const std::string& sentence) {
    ++problems_;
    sink_.problem({name, sentence, 1, lines_.offset()});
  }

  /// Damaged gzip may unpack to a thousand bad lines before it is found out, and then it is the cause to tell.
  void skip_to_end() {
    std::string_view line;
    while (lines_.gzip() && lines_.next(line, 0) != LineSource::Next::end) continue;
  }

  void finish(bool stopped) {
    if (stopped) {
      problem("too-many-problems",
              fmt::format("reading stopped after {} bad records: what follows is unknown", problems_));
      skip_to_end();
    }
    if (lines_.corrupt())
      problem("gzip-corrupt",
              "the gzip data is damaged here: what follows is unknown, and what stands before may be wrong");
    const bool all_there = !promised_ || *promised_ == records_;
    if (end_ && !all_there)
      problem("records-missing",
              fmt::format("the end says {} records and {} were there: some are lost", *promised_, records_));
    sink_.end(end_ && all_there && !stopped && !lines_.cut() && !lines_.corrupt());
  }

  const std::string& path_;
  RecordSink& sink_;
  LineSource lines_;
  FlatRecord fields_;
  std::uint64_t records_ = 0, problems_ = 0;
  std::optional<std::uint64_t> promised_;
  bool end_ = false;
};

}  // namespace

void read_recording(const std::string& path, RecordSink& sink, const ReadProgress& progress) {
  Reading(path, sink, progress).run();
}

bool looks_like_recording(std::string_view head) {
  return is_gzip(head) || is_recording_header(head);
}

}  // namespace refrain
