#include "audit/review/table.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <filesystem>
#include <iterator>
#include <optional>
#include <set>
#include <system_error>

#include "audit/reports/escape.hpp"
#include "audit/review/finding_place.hpp"
#include "graphs/error.hpp"
#include "traces/output_file.hpp"

namespace refrain {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLongestStem = 80;
constexpr std::size_t kRowsAtOnce = std::size_t{1} << 16;  // bytes that are gathered before they are written

/// RFC 4180: quoted where it must be, quotes doubled. A reader of thousands of files stops at a byte that is no UTF-8,
/// and some at a line break in a field, so neither is written.
std::string quoted(std::string_view raw) {
  std::string text = visible(raw);
  if (text.find_first_of(",\"") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"') out.push_back('"');
    out.push_back(c);
  }
  out.push_back('"');
  return out;
}

class Row {
 public:
  Row& operator<<(std::uint64_t value) { return field(fmt::to_string(value)); }
  Row& operator<<(const std::optional<std::uint64_t>& value) { return field(value ? fmt::to_string(*value) : ""); }
  Row& operator<<(std::string_view text) { return field(quoted(text)); }
  Row& operator<<(const char* text) { return *this << std::string_view(text); }
  Row& operator<<(const std::string& text) { return *this << std::string_view(text); }
  [[nodiscard]] std::string end() && { return std::move(text_) + "\r\n"; }

 private:
  Row& field(const std::string& text) {
    if (!first_) text_.push_back(',');
    first_ = false;
    text_ += text;
    return *this;
  }
  std::string text_;
  bool first_ = true;
};

class Table {
 public:
  Table(const std::string& folder, std::string_view name, const std::string& partition)
      : path_(made(fs::path(folder) / name / ("trace=" + partition)) / "part-0.csv"), file_(path_) {}
  /// A partition that holds nothing goes.
  ~Table() {
    std::error_code ignored;
    fs::remove(path_.parent_path(), ignored);
  }
  Table(const Table&) = delete;
  Table& operator=(const Table&) = delete;

  /// The header first.
  void add(Row&& row) {
    pending_ += std::move(row).end();
    ++rows_;
    if (pending_.size() >= kRowsAtOnce) write();
  }
  void keep() {
    write();
    std::error_code ignored;
    if (rows_ > 1)
      file_.keep();
    else
      fs::remove(path_, ignored);
  }

 private:
  void write() {
    file_.write(pending_);
    pending_.clear();
  }
  static fs::path made(const fs::path& folder) {
    std::error_code problem;
    fs::create_directories(folder, problem);
    if (problem) throw Error(ErrorKind::input, "making a folder for tables", problem.message(), folder.string());
    return folder;
  }

  fs::path path_;
  OutputFile file_;
  std::string pending_;
  std::size_t rows_ = 0;
};

std::string column_of(CopyClass copies) {
  std::string name = to_string(copies);
  for (char& c : name)
    if (c == ' ') c = '_';
  return name;
}

void write_steps(const Review& review, Table& table) {
  Row header;
  header << "step"
         << "name"
         << "thread"
         << "start_ns"
         << "end_ns"
         << "host_ns"
         << "replays"
         << "replayed_nodes"
         << "captured_nodes"
         << "eager_launches"
         << "syncs"
         << "queries"
         << "host_wait_ns"
         << "gpu_busy_ns"
         << "gpu_idle_ns"
         << "launch_gap_ns"
         << "between_replays_ns"
         << "instantiations"
         << "updates"
         << "module_loads"
         << "allocations"
         << "frees"
         << "replayed_copies"
         << "rows"
         << "real_rows";
  for (std::size_t i = 0; i < kCopyClasses; ++i) {
    const std::string column = column_of(static_cast<CopyClass>(i));
    header << column + "_copies" << column + "_bytes";
  }
  header << "step_basis"
         << "input";
  table.add(std::move(header));
  for (std::size_t i = 0; i < review.steps.size(); ++i) {
    const StepStats& s = review.steps[i];
    Row row;
    row << i + 1 << review.timeline().text(s.name) << std::uint64_t{s.thread} << s.start_ns << s.end_ns
        << s.end_ns - s.start_ns << s.replays << s.replayed_nodes << s.captured_nodes << s.eager_launches << s.syncs
        << s.queries << s.host_wait_ns << s.gpu_busy_ns << s.gpu_idle_ns << s.launch_gap_ns << s.between_replays_ns
        << s.instantiations << s.updates << s.module_loads << s.allocations << s.frees << s.replayed_copies << s.rows
        << s.real_rows;
    for (const Tally& copies : s.copies) row << copies.count << copies.bytes;
    row << to_string(review.cut.basis) << review.recording().name;
    table.add(std::move(row));
  }
}

void write_findings(const Review& review, Table& table) {
  Row header;
  header << "rule"
         << "name"
         << "severity"
         << "certainty"
         << "standing"
         << "count"
         << "step"
         << "at_ns"
         << "where"
         << "message"
         << "fix"
         << "fingerprint"
         << "input";
  table.add(std::move(header));
  for (const Finding& finding : review.report.findings()) {
    const FindingPlace place = place_of(review, finding);
    std::optional<std::uint64_t> step;
    if (place.step) step = *place.step + 1;
    Row row;
    row << finding.rule << finding.name << to_string(finding.severity) << to_string(finding.certainty)
        << to_string(finding.standing) << finding.count << step << place.at_ns << finding.where << finding.message
        << finding.fix << finding.fingerprint << finding.input;
    table.add(std::move(row));
  }
}

void write_trace(const Review& review, Table& table) {
  Row header, row;
  header << "input"
         << "steps"
         << "step_basis"
         << "worst_step"
         << "calls"
         << "device_work"
         << "complete"
         << "errors"
         << "warnings"
         << "notes"
         << "not_checked_rules";
  table.add(std::move(header));
  const Report& report = review.report;
  std::set<std::string_view> not_checked;
  for (const NotChecked& item : report.not_checked()) not_checked.insert(item.rule);
  std::optional<std::uint64_t> worst;
  if (!review.steps.empty()) worst = review.totals.worst + 1;
  row << review.recording().name << review.steps.size() << to_string(review.cut.basis) << worst
      << review.timeline().calls.size() << review.timeline().work.size()
      << (review.timeline().complete ? "true" : "false") << report.count(Severity::error)
      << report.count(Severity::warning) << report.count(Severity::note) << not_checked.size();
  table.add(std::move(row));
}

// FNV-1a, 64 bits, folded to 32.
std::uint32_t hash_of(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  return static_cast<std::uint32_t>(hash ^ (hash >> 32));
}

bool plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_';
}

}  // namespace

std::string partition_name(std::string_view path) {
  std::error_code ignored;
  fs::path whole = fs::absolute(path, ignored).lexically_normal();
  if (ignored) whole = path;
  std::string stem = whole.stem().string().substr(0, kLongestStem);
  for (char& c : stem)
    if (!plain(c)) c = '_';
  return fmt::format("{}-{:08x}", stem.empty() ? "trace" : stem, hash_of(whole.string()));
}

void write_tables(const Review& review, const std::string& folder) {
  const std::string partition = partition_name(review.recording().name);
  // All whole before one is seen; that of the trace itself last, so that where it stands the others are its own.
  Table steps(folder, "steps", partition), findings(folder, "findings", partition), trace(folder, "traces", partition);
  write_steps(review, steps);
  write_findings(review, findings);
  write_trace(review, trace);
  steps.keep();
  findings.keep();
  trace.keep();
}

}  // namespace refrain
