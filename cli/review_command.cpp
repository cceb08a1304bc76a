// refrain review: a trace in, its steps with what each cost and the audit's findings
// out; two traces, and what changed between them.
#include <fmt/format.h>

#include <memory>
#include <string>
#include <unordered_set>
#include <vector>

#include "audit/review/review.hpp"
#include "audit/review/table.hpp"
#include "cli/command.hpp"
#include "cli/progress_line.hpp"
#include "cli/save_text.hpp"
#include "cli/threshold_flags.hpp"
#include "traces/readers.hpp"

namespace refrain {
namespace {

struct ReviewFlags {
  std::string file, other, output;
  std::string html, chrome, table;  ///< files and a folder; empty = not wanted
  StepChoice choice;
  Threshold threshold;
  Format format = Format::text;
};

std::vector<Review> read_all(const ReviewFlags& flags) {
  std::vector<std::string> files{flags.file};
  if (!flags.other.empty()) files.push_back(flags.other);
  ProgressLine line;
  const Progress progress = line.progress();
  std::vector<Review> reviews;
  for (const std::string& file : files) {
    const auto tell = [&](std::size_t part, const std::string& doing) {
      if (progress) progress(2 * reviews.size() + part, 2 * files.size(), doing);
    };
    tell(0, "reading " + file);
    const auto percent = [&](unsigned done) { tell(0, fmt::format("reading {}, {} %", file, done)); };
    Recording recording = load_recording(file, progress ? by_percent(percent) : ReadProgress());
    tell(1, "reviewing " + file);
    reviews.push_back(review(std::move(recording), flags.choice));
  }
  return reviews;
}

int run_one(const ReviewFlags& flags, const Review& review) {
  const bool colour = flags.output.empty() && wants_colour();
  print_or_save(flags.output,
                flags.format == Format::json ? review_json(review, flags.threshold) : review_text(review, colour));
  return review.report.exit_code(flags.threshold);
}

/// What stood in the first is known in the second.
int run_two(const ReviewFlags& flags, const Review& before, const Review& after) {
  const bool colour = flags.output.empty() && wants_colour();
  print_or_save(flags.output, flags.format == Format::json ? review_diff_json(before, after)
                                                           : review_diff_text(before, after, colour));
  std::unordered_set<std::string> known;
  for (const Finding& finding : before.report.findings()) known.insert(finding.fingerprint);
  Report fresh = after.report;
  for (std::size_t i = 0; i < fresh.findings().size(); ++i)
    if (known.contains(fresh.findings()[i].fingerprint)) fresh.excuse(i, Standing::known, "");
  return fresh.exit_code(flags.threshold);
}

int run(const ReviewFlags& flags) {
  check_threshold(flags.threshold);
  const std::vector<Review> reviews = read_all(flags);
  if (!flags.html.empty()) save_text(flags.html, review_html(reviews.front()));
  if (!flags.chrome.empty()) write_chrome_trace(reviews.front(), flags.chrome);
  if (!flags.table.empty())
    for (const Review& review : reviews) write_tables(review, flags.table);
  return reviews.size() == 1 ? run_one(flags, reviews.front()) : run_two(flags, reviews.front(), reviews.back());
}

}  // namespace

std::function<int()> declare_review(Options app) {
  auto flags = std::make_shared<ReviewFlags>();
  app.add_option("trace", flags->file,
                 "a SQLite export of Nsight Systems, a trace of PyTorch's profiler, or a recording with a timeline")
      .required();
  const Option other = app.add_option("trace_b", flags->other,
                                      "compare with this one: exit 1 for findings that the first does not have");
  app.add_option("--steps", flags->choice.pattern,
                 "ranges of this name are the steps; * and ? as in a shell. Without it they are told by marks, by "
                 "numbered names, by replays, or by calls that repeat");
  add_format(app, flags->format);
  app.add_option("--output", flags->output, "write to this file, whole or not at all");
  app.add_option("--html", flags->html, "one page: the steps as a strip, the worst drawn in time, findings, tables")
      .excludes(other);
  app.add_option("--chrome", flags->chrome, "a trace for Perfetto with the findings as marks; `.gz` compresses it")
      .excludes(other);
  app.add_option("--table", flags->table, "CSV of steps and findings in this folder, beside those of other traces");
  add_threshold(app, flags->threshold);
  return [flags] { return run(*flags); };
}

}  // namespace refrain
