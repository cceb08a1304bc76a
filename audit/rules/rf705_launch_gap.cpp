// RF705: the device stands idle inside a step while the host prepares a replay. It
// counts what lies between a step's begin and its last graph launch, less what the
// device worked there; never a step that is one launch and nothing else. Where the
// host waited or launched kernels in between, rules 102, 103 and 701 name the cause.
// One slow step is a warm-up: half of the steps of a kind, and three, are a habit.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "audit/captures.hpp"
#include "audit/rules/checks.hpp"
#include "audit/rules/eager_work.hpp"
#include "audit/rules/step_copies.hpp"
#include "audit/rules/step_tally.hpp"
#include "traces/step_names.hpp"

namespace refrain {
namespace {

constexpr std::uint64_t kShortest = 50'000;  // ns of idle time in a step that are worth a word
constexpr double kShare = 0.25;              // of the step
constexpr std::size_t kSteps = 3;

using DeviceId = std::pair<std::uint32_t, std::uint32_t>;  // process, device

/// When each device was busy, and on which one each replay ran.
class DeviceTimes {
 public:
  explicit DeviceTimes(const Timeline& timeline) {
    std::unordered_set<std::uint64_t> replays;
    for (const ApiEvent& call : timeline.calls)
      if (is_replay(call)) replays.insert(call.sequence);
    for (const WorkEvent& work : timeline.work) {
      const DeviceId id{work.process, work.device};
      auto& spans = busy_[id];
      if (spans.empty() || work.start_ns > spans.back().second)
        spans.emplace_back(work.start_ns, std::max(work.start_ns, work.end_ns));
      else
        spans.back().second = std::max(spans.back().second, work.end_ns);
      if (replays.contains(work.call)) device_of_.try_emplace(work.call, id);
    }
  }

  /// Idle time in [begin, end) of the device that ran the replay; 0 where that was not recorded.
  [[nodiscard]] std::uint64_t idle(const ApiEvent& replay, std::uint64_t begin, std::uint64_t end) const {
    const auto device = device_of_.find(replay.sequence);
    if (device == device_of_.end() || end <= begin) return 0;
    const auto& spans = busy_.at(device->second);
    std::uint64_t idle = end - begin;
    auto at = std::upper_bound(spans.begin(), spans.end(), begin,
                               [](std::uint64_t time, const auto& span) { return time < span.second; });
    for (; at != spans.end() && at->first < end; ++at) idle -= std::min(end, at->second) - std::max(begin, at->first);
    return idle;
  }

 private:
  std::map<DeviceId, std::vector<std::pair<std::uint64_t, std::uint64_t>>> busy_;  // in order, none touching another
  std::unordered_map<std::uint64_t, DeviceId> device_of_;                          // by the launch's sequence number
};

/// The last replay of a step in which nothing but the host's own work can hold it up; null for other steps.
const ApiEvent* held_up_replay(const StepCalls& step) {
  const ApiEvent* last = nullptr;
  bool other_calls = false, held_up = false, eager = false, blamed = false;
  for (const ApiEvent* call : step.calls) {
    if (is_query(call->api)) continue;
    if (is_replay(*call)) {
      other_calls = other_calls || last != nullptr;
      blamed = blamed || held_up || (eager && last != nullptr);
      last = call;
      eager = false;
      continue;
    }
    other_calls = true;
    held_up = held_up || makes_host_wait(*call) || (is_sync(call->api) && call->code == 0);
    eager = eager || is_eager_kernel(*call);
  }
  return other_calls && !blamed ? last : nullptr;
}

struct Gap {
  const StepCalls* step = nullptr;
  const ApiEvent* replay = nullptr;
  std::uint64_t idle_ns = 0;
};

struct Kind {
  std::size_t steps = 0;  // that could show a gap
  std::vector<Gap> gaps;
};

void report_kind(const Timeline& timeline, const std::string& name, const Kind& kind, std::size_t all, Report& report) {
  StepTally tally(timeline, all);
  double share = 0;
  for (const Gap& gap : kind.gaps) {
    tally.add(*gap.step, *gap.replay, gap.idle_ns, kind.gaps.front().replay);
    const RangeEvent& range = *gap.step->range;
    share += static_cast<double>(gap.idle_ns) / static_cast<double>(range.end_ns - range.start_ns);
  }
  tally.each([&](const StepCost& cost) {
    Finding finding = tally.finding("RF705", cost);
    finding.message = fmt::format(
        "the device stood idle before a replay {}, for {:.0f} % of these steps on average: the host was preparing the "
        "launch and nothing was queued behind it",
        tally.how_often(cost), 100 * share / static_cast<double>(kind.gaps.size()));
    finding.fix =
        "prepare a step while the one before it runs: launch before reading the results, and do the planning in the "
        "graph";
    report.add(std::move(finding), std::vector<std::string>{name});
  });
}

void check_recording(const Recording& recording, Report& report) {
  const Timeline& timeline = recording.timeline;
  const DeviceTimes times(timeline);
  const auto steps = steps_of(timeline);
  std::map<std::string, Kind> kinds;
  for (const StepCalls& step : steps) {
    const ApiEvent* replay = held_up_replay(step);
    const RangeEvent& range = *step.range;
    if (replay == nullptr || range.end_ns <= range.start_ns) continue;
    Kind& kind = kinds[step_kind(timeline.text(range.name))];
    ++kind.steps;
    const std::uint64_t idle = times.idle(*replay, range.start_ns, replay->start_ns);
    if (idle >= kShortest && static_cast<double>(idle) > kShare * static_cast<double>(range.end_ns - range.start_ns))
      kind.gaps.push_back({&step, replay, idle});
  }
  for (const auto& [name, kind] : kinds)
    if (kind.gaps.size() >= kSteps && 2 * kind.gaps.size() >= kind.steps)
      report_kind(timeline, name, kind, steps.size(), report);
}

}  // namespace

void check_rf705(const SubjectView& view, Report& report) {
  for (const Recording* recording : recordings_with_steps(view, report, "RF705"))
    if (recording->timeline.work.empty())
      report.not_checked("RF705", "the input holds no device records: when the device was idle is not known");
    else
      check_recording(*recording, report);
}

}  // namespace refrain
