#include "tests/fuzz/fuzz_support.hpp"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <utility>

#include "audit/audit.hpp"
#include "audit/reports/formats.hpp"
#include "audit/review/review.hpp"
#include "graphs/error.hpp"
#include "traces/cut_steps.hpp"
#include "traces/timeline_builder.hpp"

namespace refrain::fuzz {
namespace {

namespace fs = std::filesystem;

/// A file that goes with its owner.
class OwnFile {
 public:
  OwnFile() : path_(fs::temp_directory_path() / ("refrain-fuzz-" + std::to_string(::getpid()))) {}
  ~OwnFile() {
    std::error_code ignored;
    fs::remove(path_, ignored);
  }
  OwnFile(const OwnFile&) = delete;
  OwnFile& operator=(const OwnFile&) = delete;
  [[nodiscard]] const std::string& path() const noexcept { return path_; }

 private:
  std::string path_;
};

/// What is written for JSON must be JSON again.
void write_report(const Subject& subject, const Report& report, const ReportFormat& format) {
  const std::string text =
      format.write({.report = report, .subjects = {&subject, 1}, .threshold = {}, .version = "fuzz"});
  const std::string_view name = format.name;
  if (name == "json" || name == "sarif") (void)nlohmann::json::parse(text);
}

void write_review(const Review& review, std::size_t turn) {
  switch (turn % 4) {
    case 0: (void)review_text(review); break;
    case 1: (void)nlohmann::json::parse(review_json(review)); break;
    case 2: (void)review_html(review); break;
    default: (void)nlohmann::json::parse(review_diff_json(review, review)); break;
  }
}

/// Which format an input is written in. Most of a report is the same for all of them and would be most of the time, so
/// each input gets one, always the same.
std::size_t turn_of(const Subject& subject, const Report& report) {
  const Recording& recording = subject.recordings.front();
  const Timeline& timeline = recording.timeline;
  return report.findings().size() + report.nodes + recording.graphs.size() + timeline.calls.size() +
         timeline.work.size() + timeline.ranges.size() + timeline.strings.size();
}

}  // namespace

const std::string& fresh_file() {
  static const OwnFile file;  // libFuzzer offers no other place that lives as long as the process
  std::error_code ignored;
  fs::remove(file.path(), ignored);
  return file.path();
}

const std::string& file_with(std::string_view bytes) {
  const std::string& path = fresh_file();
  std::ofstream out(path, std::ios::binary);
  if (!(out.write(bytes.data(), static_cast<std::streamsize>(bytes.size())) << std::flush)) std::abort();
  return path;
}

void allow_refusal(const std::function<void()>& read) {
  try {
    read();
  } catch (const Error& error) {
    // One line, whatever the input: a refusal is read in a log.
    const bool one_line = std::string_view(error.what()).find('\n') == std::string_view::npos;
    if (!one_line || (error.kind() != ErrorKind::input && error.kind() != ErrorKind::usage)) throw;
  }
}

void judge(Recording recording) {
  recording.name = "input";
  const bool has_timeline = recording.has_timeline;
  Subject subject;
  subject.recordings.push_back(std::move(recording));
  const Report report = audit(subject);
  const std::size_t turn = turn_of(subject, report);
  const auto formats = report_formats();
  write_report(subject, report, formats[turn % formats.size()]);
  if (has_timeline) write_review(review(std::move(subject.recordings.front())), turn);
  reached();
}

void judge(std::vector<Graph> graphs) {
  Recording recording;
  recording.graphs = std::move(graphs);
  judge(std::move(recording));
}

void judge_trace(void (*read)(const std::string& path, RecordSink& sink, const ReadProgress& progress),
                 const std::string& path) {
  TimelineBuilder builder;
  read(path, builder, [](std::uint64_t, std::uint64_t total) {
    if (total == 0) std::abort();
  });
  Recording recording = builder.take();
  cut_steps(recording.timeline);
  judge(std::move(recording));
}

}  // namespace refrain::fuzz
