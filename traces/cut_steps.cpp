#include "traces/cut_steps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>
#include <vector>

#include "graphs/error.hpp"
#include "graphs/text.hpp"
#include "traces/call_kinds.hpp"
#include "traces/guess_steps.hpp"
#include "traces/step_names.hpp"

namespace refrain {
namespace {

constexpr std::size_t kListed = 8;  // names in a message

/// Takes back what an earlier cut did.
void uncut(Timeline& timeline) {
  if (is_guessed(timeline.step_basis)) std::erase_if(timeline.ranges, [](const RangeEvent& r) { return r.step; });
  if (timeline.step_basis != StepBasis::marked)
    for (RangeEvent& range : timeline.ranges) range.step = false;
  timeline.step_basis = StepBasis::marked;
}

std::size_t count_steps(const Timeline& timeline) {
  return static_cast<std::size_t>(
      std::count_if(timeline.ranges.begin(), timeline.ranges.end(), [](const RangeEvent& r) { return r.step; }));
}

/// Whether each name passes, asked once a name.
template <class Passes>
std::vector<bool> names_that(const Timeline& timeline, Passes passes) {
  std::vector<bool> known(timeline.strings.size()), yes(timeline.strings.size());
  for (const RangeEvent& range : timeline.ranges) {
    if (known[range.name]) continue;
    known[range.name] = true;
    yes[range.name] = passes(timeline.text(range.name));
  }
  return yes;
}

std::size_t mark(Timeline& timeline, const std::vector<bool>& names) {
  std::size_t count = 0;
  for (RangeEvent& range : timeline.ranges) {
    range.step = names[range.name];
    if (range.step) ++count;
  }
  return count;
}

/// The names of the ranges, each with its number cut off.
std::string names_there(const Timeline& timeline) {
  std::set<std::string> kinds;
  for (const RangeEvent& range : timeline.ranges) kinds.insert(step_kind(timeline.text(range.name)));
  std::string list;
  std::size_t listed = 0;
  for (const std::string& kind : kinds) {
    if (listed++ == kListed) break;
    list += fmt::format("{}\"{}\"", list.empty() ? "" : ", ", kind);
  }
  if (kinds.size() > kListed) list += fmt::format(" and {} more", kinds.size() - kListed);
  return list;
}

StepCut choose(Timeline& timeline, const std::string& pattern) {
  const std::size_t steps =
      mark(timeline, names_that(timeline, [&](const std::string& name) { return matches_glob(pattern, name); }));
  if (steps == 0)
    throw Error(ErrorKind::usage, fmt::format("--steps \"{}\"", pattern),
                timeline.ranges.empty() ? "no such range: the input has none; leave the option out"
                                        : fmt::format("no such range; there are {}", names_there(timeline)),
                "");
  return {StepBasis::chosen, fmt::format("ranges named \"{}\", as asked for", pattern), steps};
}

/// Ranges of a thread that hands out no work, a scheduler's say, cut nothing.
bool hold_work(const Timeline& timeline, const std::vector<bool>& names) {
  std::unordered_map<std::uint32_t, std::vector<std::uint64_t>> work;  // by thread
  bool any = false;
  for (const ApiEvent& call : timeline.calls)
    if (submits_work(call.api)) work[call.thread].push_back(call.sequence), any = true;
  if (!any) return true;
  for (const RangeEvent& range : timeline.ranges) {
    if (!names[range.name]) continue;
    const auto thread = work.find(range.thread);
    if (thread == work.end()) continue;
    const auto at = std::lower_bound(thread->second.begin(), thread->second.end(), range.first);
    if (at != thread->second.end() && *at <= range.last) return true;
  }
  return false;
}

template <class IsStep>
std::size_t mark_named(Timeline& timeline, IsStep is_step, std::string& example) {
  const std::vector<bool> names = names_that(timeline, is_step);
  if (!hold_work(timeline, names)) return 0;
  const std::size_t steps = mark(timeline, names);
  for (const RangeEvent& range : timeline.ranges)
    if (range.step && example.empty()) example = timeline.text(range.name);
  return steps;
}

std::size_t add_guessed(Timeline& timeline, const std::vector<GuessedStep>& steps, const char* name) {
  if (steps.empty()) return 0;
  const StringId id = Interner(timeline).id(name);
  for (const GuessedStep& step : steps) {
    const ApiEvent &first = timeline.calls[step.first], &last = timeline.calls[step.last];
    timeline.ranges.push_back(
        {first.sequence, last.sequence, first.start_ns, std::max(step.end_ns, first.start_ns), step.thread, id, true});
  }
  std::stable_sort(timeline.ranges.begin(), timeline.ranges.end(),
                   [](const RangeEvent& a, const RangeEvent& b) { return a.last < b.last; });
  return steps.size();
}

StepCut guess(Timeline& timeline) {
  if (timeline.work.empty())
    return {StepBasis::none, "no range is marked or named as a step, and without device records none is guessed", 0};
  if (const std::size_t steps = add_guessed(timeline, guess_by_replays(timeline), "replay"); steps > 0)
    return {StepBasis::replay,
            "no range is named as a step; graph replays come again and again: each step is one, or "
            "one group of them, up to the next",
            steps};
  if (const std::size_t steps = add_guessed(timeline, guess_by_period(timeline), "period"); steps > 0)
    return {StepBasis::period,
            "no range is named as a step and no graph is replayed in a loop; the same sequence of calls comes again "
            "and again: each round is a step",
            steps};
  return {
      StepBasis::none,
      "no range is named as a step, and neither replays nor a sequence of calls repeat at least three times through "
      "most of the trace; name the ranges that are steps with --steps",
      0};
}

StepCut cut(Timeline& timeline, const StepChoice& choice) {
  if (!choice.pattern.empty()) return choose(timeline, choice.pattern);
  if (const std::size_t steps = count_steps(timeline); steps > 0)
    return {StepBasis::marked, "the input marks its steps itself", steps};
  std::string example;
  if (const std::size_t steps = mark_named(timeline, is_profiler_step, example); steps > 0)
    return {StepBasis::profiler_step, "PyTorch's profiler numbered the steps, as in \"" + example + "\"", steps};
  if (const std::size_t steps = mark_named(timeline, is_step_name, example); steps > 0)
    return {StepBasis::named_range,
            fmt::format("ranges are numbered as steps are, as in \"{}\"; there is no ProfilerStep", example), steps};
  return guess(timeline);
}

}  // namespace

const char* to_string(StepBasis basis) noexcept {
  switch (basis) {
    case StepBasis::marked: return "marked";
    case StepBasis::chosen: return "chosen";
    case StepBasis::profiler_step: return "profiler step";
    case StepBasis::named_range: return "named range";
    case StepBasis::replay: return "replay";
    case StepBasis::period: return "period";
    case StepBasis::none: return "none";
  }
  return "unknown";
}

bool is_guessed(StepBasis basis) noexcept {
  return basis == StepBasis::replay || basis == StepBasis::period;
}

StepCut cut_steps(Timeline& timeline, const StepChoice& choice) {
  if (timeline.steps_told && choice.pattern.empty())
    return {
        timeline.step_basis,
        fmt::format("the recording was made of a trace whose steps were cut so ({})", to_string(timeline.step_basis)),
        count_steps(timeline)};
  timeline.steps_told = false;
  uncut(timeline);
  StepCut done = cut(timeline, choice);
  timeline.step_basis = done.basis;
  return done;
}

}  // namespace refrain
