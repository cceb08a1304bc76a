// RF702: graph execs that are built to be launched once or twice and built again,
// and updates that CUDA refuses (910) in a step. A cache that fills with one exec a
// bucket builds as well, but keeps what it built; so what counts is an exec that
// went after at most two launches while another was made after it, one that was
// left lying when another was made of the same graph or bucket, and an update for
// every launch or two.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <tuple>
#include <unordered_map>

#include "audit/graph_lives.hpp"
#include "audit/rules/checks.hpp"
#include "audit/rules/words.hpp"
#include "graphs/diff.hpp"

namespace refrain {
namespace {

constexpr std::size_t kRebuilds = 4;          // fewer are what a tuner does once, or a test
constexpr std::uint64_t kFewLaunches = 2;     // of an exec that was not worth building
constexpr std::int32_t kUpdateFailure = 910;  // cudaErrorGraphExecUpdateFailure

/// What became of the execs of one timeline.
struct Tally {
  std::size_t short_lived = 0, updated = 0, failed = 0, failed_in_step = 0;
  std::uint64_t launches = 0;  // of short-lived and updated execs
  const ApiEvent* first_failure = nullptr;
  const ApiEvent* first_rebuild = nullptr;
  std::string difference;  // of the two graphs of the first failure
};

class Walk {
 public:
  explicit Walk(const Recording& recording) : recording_(recording) {
    for (const GraphEvent& event : recording.timeline.graphs)
      if (event.graph < recording.graphs.size()) ties_[event.handle].push_back(&event);
    for (const RangeEvent& range : recording.timeline.ranges)
      if (range.step) steps_[range.thread][range.first] = range.last;
    for (auto& [thread, steps] : steps_) {
      std::uint64_t reach = 0;
      for (auto& [first, last] : steps) last = reach = std::max(reach, last);
    }
  }

  Tally run() {
    for (const ApiEvent& call : recording_.timeline.calls) follow(call);
    for (const auto& [handle, exec] : execs_)
      if (exec.replaced) give_up(exec);
    return tally_;
  }

 private:
  struct Exec {
    std::uint64_t graph = 0;  // handle
    std::uint64_t sequence = 0;
    std::uint64_t launches = 0;
    bool replaced = false;  // another was made of the same graph or bucket since
  };

  void follow(const ApiEvent& call) {
    switch (call.api) {
      case Api::graph_instantiate: instantiate(call); break;
      case Api::graph_launch:
        if (const auto exec = execs_.find(call.object); exec != execs_.end() && ran_at_once(call))
          ++exec->second.launches;
        break;
      case Api::graph_exec_destroy:
        if (call.code == 0) destroy(call);
        break;
      case Api::graph_exec_update: update(call); break;
      default: break;
    }
  }

  // What went before this is known to be followed by another.
  // A profiler may not say which exec a call made, and then nothing can be said of its life.
  void instantiate(const ApiEvent& call) {
    if (call.code != 0 || call.made == 0) return;
    if (gone_ > 0) {
      if (tally_.first_rebuild == nullptr) tally_.first_rebuild = &call;
      tally_.short_lived += gone_;
      tally_.launches += gone_launches_;
      gone_ = gone_launches_ = 0;
    }
    replace(call);
    execs_[call.made] = {call.object, call.sequence, 0, false};
  }

  void replace(const ApiEvent& call) {
    const Graph* graph = graph_at(call.object, call.sequence);
    if (graph == nullptr) return;
    const CaptureInfo& capture = graph->capture;
    const auto key = capture.bucket.empty()
                         ? std::tuple(graph, std::string(), std::string(), std::string())
                         : std::tuple(static_cast<const Graph*>(nullptr), graph->name, capture.phase, capture.bucket);
    const auto [last, fresh] = last_of_.try_emplace(key, call.made);
    if (fresh) return;
    // Execs of one graph for several streams are made before the first is launched.
    if (const auto exec = execs_.find(last->second); exec != execs_.end() && exec->second.launches > 0) {
      exec->second.replaced = true;
      if (tally_.first_rebuild == nullptr) tally_.first_rebuild = &call;
    }
    last->second = call.made;
  }

  void give_up(const Exec& exec) {
    if (exec.launches == 0 || exec.launches > kFewLaunches) return;
    ++tally_.short_lived;
    tally_.launches += exec.launches;
  }

  void destroy(const ApiEvent& call) {
    const auto exec = execs_.find(call.object);
    if (exec == execs_.end()) return;
    if (exec->second.replaced) {
      give_up(exec->second);
    } else if (exec->second.launches > 0 && exec->second.launches <= kFewLaunches) {
      ++gone_;
      gone_launches_ += exec->second.launches;
    }
    execs_.erase(exec);
  }

  void update(const ApiEvent& call) {
    const auto exec = execs_.find(call.object);
    if (call.code == kUpdateFailure) {
      ++tally_.failed;
      if (in_step(call)) ++tally_.failed_in_step;
      if (tally_.first_failure == nullptr) {
        tally_.first_failure = &call;
        if (exec != execs_.end()) tally_.difference = difference(exec->second, call);
      }
      return;
    }
    if (call.code != 0 || exec == execs_.end()) return;
    // From the graph that it was made of, it takes new parameters: that is cheap, and what an update is for.
    const bool other = call.made != 0 && call.made != exec->second.graph;
    if (other && exec->second.launches > 0 && exec->second.launches <= kFewLaunches) {
      if (tally_.first_rebuild == nullptr) tally_.first_rebuild = &call;
      ++tally_.updated;
      tally_.launches += exec->second.launches;
    }
    exec->second = {call.made != 0 ? call.made : exec->second.graph, call.sequence, 0, false};
  }

  /// `steps_` holds, by thread and first sequence, how far the steps that began until then reach.
  [[nodiscard]] bool in_step(const ApiEvent& call) const {
    const auto steps = steps_.find(call.thread);
    if (steps == steps_.end()) return false;
    const auto after = steps->second.upper_bound(call.sequence);
    return after != steps->second.begin() && std::prev(after)->second >= call.sequence;
  }

  /// The graph that the handle meant at that moment.
  [[nodiscard]] const Graph* graph_at(std::uint64_t handle, std::uint64_t sequence) const {
    const auto ties = ties_.find(handle);
    if (ties == ties_.end()) return nullptr;
    const Graph* graph = nullptr;
    for (const GraphEvent* tie : ties->second)
      if (tie->sequence < sequence || graph == nullptr) graph = &recording_.graphs[tie->graph];
    return graph;
  }

  [[nodiscard]] std::string difference(const Exec& exec, const ApiEvent& call) const {
    const Graph* old = graph_at(exec.graph, exec.sequence);
    const Graph* wanted = graph_at(call.made, call.sequence);
    if (old == nullptr || wanted == nullptr) return "";
    const GraphDiff diff = diff_graphs(*old, *wanted);
    if (!diff.added.empty())
      return fmt::format("{} is new in the graph of {} nodes; the exec was made of {}",
                         describe(*wanted, diff.added.front()), wanted->nodes.size(), old->nodes.size());
    if (!diff.removed.empty())
      return fmt::format("{} of the exec's {} nodes is not in the new graph of {}",
                         describe(*old, diff.removed.front()), old->nodes.size(), wanted->nodes.size());
    if (!diff.changed.empty())
      return fmt::format("{}: {}", describe(*wanted, diff.changed.front().b), diff.changed.front().what);
    return diff.empty() ? "" : "the same nodes with other edges";
  }

  const Recording& recording_;
  std::unordered_map<std::uint64_t, std::vector<const GraphEvent*>> ties_;
  std::map<std::uint32_t, std::map<std::uint64_t, std::uint64_t>> steps_;
  std::unordered_map<std::uint64_t, Exec> execs_;
  std::map<std::tuple<const Graph*, std::string, std::string, std::string>, std::uint64_t> last_of_;  // exec, by bucket
  std::size_t gone_ = 0;  // short-lived, and nothing made since
  std::uint64_t gone_launches_ = 0;
  Tally tally_;
};

void report_tally(const Recording& recording, const Tally& tally, Report& report) {
  const std::size_t rebuilds = tally.short_lived + tally.updated;
  const bool churn = rebuilds >= kRebuilds;
  const ApiEvent& first = tally.first_failure != nullptr ? *tally.first_failure : *tally.first_rebuild;
  Finding finding = new_finding("RF702", Certainty::proven);
  finding.count = churn ? rebuilds : tally.failed;
  finding.call = first.sequence;
  finding.where = fmt::format("{} by thread {}", to_string(first.api), first.thread);
  if (churn)
    finding.message = fmt::format(
        "graphs were captured and built or updated {} times for {} launches: that costs 1 to 6 us a node each time, "
        "which "
        "a launch or two do not bring back",
        rebuilds, tally.launches);
  else
    finding.message = fmt::format(
        "cudaGraphExecUpdate came back 910 (cudaErrorGraphExecUpdateFailure) {}: the step pays for the update and then "
        "for instantiating again",
        tally.failed == 1 ? "once" : fmt::format("{} times", tally.failed));
  if (churn && tally.failed > 0)
    finding.evidence.push_back(
        fmt::format("cudaGraphExecUpdate came back 910 {} time{}", tally.failed, tally.failed == 1 ? "" : "s"));
  if (!tally.difference.empty()) finding.evidence.push_back("first difference: " + tally.difference);
  if (const std::string& detail = recording.timeline.text(first.detail); !detail.empty())
    finding.evidence.push_back(fmt::format("made in {}", detail));
  finding.fix =
      "keep one graph exec for every shape and make the captured work depend on the shape alone, so that an update can "
      "take it or none is needed";
  report.add(std::move(finding), std::vector<std::string>{to_string(first.api)});
}

}  // namespace

void check_rf702(const SubjectView& view, Report& report) {
  if (!has_timelines(view, report, "RF702", "a graph alone does not show how often it is built")) return;
  for (const Recording* recording : view.timelines()) {
    const Tally tally = Walk(*recording).run();
    if (tally.short_lived + tally.updated >= kRebuilds || tally.failed >= kRebuilds || tally.failed_in_step > 0)
      report_tally(*recording, tally, report);
  }
}

}  // namespace refrain
