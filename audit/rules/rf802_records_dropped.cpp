// RF802: records of the input could not be read, or are missing. What was read is
// true; that something was not found proves nothing.
#include <fmt/format.h>

#include <algorithm>

#include "audit/rules/checks.hpp"
#include "audit/rules/words.hpp"

namespace refrain {
namespace {

std::uint64_t total(const Timeline& timeline) {
  std::uint64_t count = 0;
  for (const ReadProblem& problem : timeline.problems) count += problem.count;
  for (const EvidenceLimit& limit : timeline.limits)
    if (limit.name == kRecordsLost) count += limit.count;
  return count;
}

void report_lost(const Recording& recording, Report& report) {
  const Timeline& timeline = recording.timeline;
  Finding finding = new_finding("RF802", Certainty::proven);
  const std::uint64_t count = total(timeline);
  finding.count = std::max<std::uint64_t>(count, 1);
  finding.where = recording.name;
  finding.message = count == 0 ? std::string(
                                     "the recording has no end: its writer died, paused, or the file was cut, "
                                     "and what followed is unknown")
                               : fmt::format("{} record{} lost: what {} said is missing from this report", count,
                                             count == 1 ? " is" : "s are", count == 1 ? "it" : "they");
  std::vector<std::string> names;
  for (const ReadProblem& problem : timeline.problems) {
    names.push_back(problem.name);
    const std::string first = problem.first_offset == 0 ? "" : fmt::format(", first at byte {}", problem.first_offset);
    finding.evidence.push_back(fmt::format("{}, {} time{}{}: {}", problem.name, problem.count,
                                           problem.count == 1 ? "" : "s", first, problem.sentence));
  }
  for (const EvidenceLimit& limit : timeline.limits)
    if (limit.name == kRecordsLost) finding.evidence.push_back(limit.sentence);
  finding.fix = "record again, and let the program end its recording";
  report.add(std::move(finding), names);
}

}  // namespace

void check_rf802(const SubjectView& view, Report& report) {
  if (view.subject().recordings.empty()) report.not_checked("RF802", "there was no input");
  // A file that holds graphs alone is read as a whole or refused.
  for (const Recording* recording : view.timelines())
    if (total(recording->timeline) != 0 || !recording->timeline.complete) report_lost(*recording, report);
}

}  // namespace refrain
