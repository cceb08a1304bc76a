// RF409: a buffer that a graph reads was written before the first launch of an
// exec and not before a later one, though other inputs were: that replay reads
// what an earlier step left. What a graph writes itself, and what was written
// before the capture (weights, tables), is left alone.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "audit/captures.hpp"
#include "audit/rules/address_index.hpp"
#include "audit/rules/checks.hpp"
#include "audit/rules/traffic.hpp"
#include "audit/rules/words.hpp"

namespace refrain {
namespace {

struct Input {
  std::size_t view = 0;
  BufferId buffer = 0;
  std::vector<NodeId> readers;
};

bool stays_by_design(const Graph& graph, BufferId id) {
  const Role role = graph.buffers[id].role;
  if (role == Role::weights || role == Role::kv_pool || role == Role::state) return true;
  bool once = false, each_launch = false;
  for (const EntryFact& fact : graph.entry) {
    if (fact.buffer != id) continue;
    once = once || fact.origin == Origin::initialised_once;
    each_launch = each_launch || fact.origin == Origin::host_each_launch;
  }
  return once && !each_launch;
}

/// The device buffers that the graph reads and does not write, by where their bytes begin.
std::vector<Input> inputs_of(const SubjectView& view, const TimedGraph& timed) {
  AddressIndex written;
  for (std::uint32_t id = 0; id < timed.touches.size(); ++id)
    if (timed.touches[id].mode != Mode::read) written.add(timed.touches[id].begin, timed.touches[id].end, id);
  std::map<Address, Input> inputs;
  for (const Touch& touch : timed.touches) {
    const Graph& graph = view.graphs()[touch.view].graph();
    const Buffer& buffer = graph.buffers[touch.buffer];
    const bool device = buffer.space == MemorySpace::device || buffer.space == MemorySpace::managed;
    if (touch.mode != Mode::read || !device || stays_by_design(graph, touch.buffer)) continue;
    bool own = false;
    written.each(buffer.base, buffer.base + buffer.bytes, [&](std::uint32_t) { own = true; });
    if (own) continue;
    Input& input = inputs.try_emplace(buffer.base, Input{touch.view, touch.buffer, {}}).first->second;
    if (input.view == touch.view && (input.readers.empty() || input.readers.back() != touch.node))
      input.readers.push_back(touch.node);
  }
  std::vector<Input> out;
  for (auto& [base, input] : inputs) out.push_back(std::move(input));
  return out;
}

/// A call between launches that changes memory, and whether anyone knows what.
struct Change {
  std::uint64_t sequence = 0;
  const ApiEvent* call = nullptr;
  const TimedGraph* graph = nullptr;  // of a launch
  bool blind = false;                 // it may have written anything
};

std::vector<Change> changes_of(const Timeline& timeline, const Traffic& traffic) {
  std::vector<Change> changes;
  for (const ApiEvent& call : timeline.calls) {
    if (!ran_at_once(call)) continue;
    if (writes_at_once(call)) {
      changes.push_back({call.sequence, &call, nullptr, false});
    } else if (call.api == Api::graph_launch) {
      const TimedGraph* graph = traffic.launched_by(call);
      changes.push_back({call.sequence, &call, graph, graph == nullptr || graph->has_unknown});
    } else if (is_launch(call.api)) {
      changes.push_back({call.sequence, &call, nullptr, true});
    }
  }
  return changes;
}

/// What happened to the inputs between two launches of one exec.
struct Window {
  std::set<std::size_t> refreshed;
  bool blind = false;
};

/// One buffer that later launches missed.
struct Miss {
  const ApiEvent* first = nullptr;
  std::size_t turn = 0;  ///< 1-based number of that launch
  std::uint64_t count = 0;
  std::set<std::size_t> others;  ///< refreshed before it
};

class Follower {
 public:
  Follower(const SubjectView& view, const TimedGraph& timed, const std::vector<Change>& changes)
      : view_(view), timed_(timed), changes_(changes), inputs_(inputs_of(view, timed)) {
    for (std::uint32_t id = 0; id < inputs_.size(); ++id) {
      const Buffer& buffer = buffer_of(id);
      index_.add(buffer.base, buffer.base + buffer.bytes, id);
    }
  }

  void run() {
    if (inputs_.size() < 2) return;  // with one input there is no other that was refreshed
    for (const ExecLife& exec : timed_.life->execs) follow(exec);
  }

  [[nodiscard]] const Input& input(std::size_t id) const { return inputs_[id]; }
  [[nodiscard]] std::string name(std::size_t id) const {
    return name_of(view_.graphs()[inputs_[id].view].graph(), inputs_[id].buffer);
  }
  [[nodiscard]] const std::map<std::size_t, Miss>& misses() const { return misses_; }
  /// A launch would have been a miss, but something ran before it whose writes nobody knows.
  [[nodiscard]] bool was_blind() const noexcept { return blind_; }

 private:
  [[nodiscard]] const Buffer& buffer_of(std::size_t id) const {
    return view_.graphs()[inputs_[id].view].graph().buffers[inputs_[id].buffer];
  }

  void follow(const ExecLife& exec) {
    if (exec.launches.size() < 2) return;
    const Window first = window(timed_.life->captured, exec.launches.front()->sequence);
    for (std::size_t i = 1; i < exec.launches.size(); ++i) {
      const Window now = window(exec.launches[i - 1]->sequence, exec.launches[i]->sequence);
      for (const std::size_t id : first.refreshed)
        if (!now.refreshed.contains(id) && !now.refreshed.empty()) miss(id, i, *exec.launches[i], now);
    }
  }

  void miss(std::size_t id, std::size_t turn, const ApiEvent& launch, const Window& window) {
    if (window.blind) {
      blind_ = true;
      return;
    }
    Miss& miss = misses_[id];
    if (miss.count++ > 0) return;
    miss.first = &launch;
    miss.turn = turn + 1;
    miss.others = window.refreshed;
  }

  Window window(std::uint64_t from, std::uint64_t to) {
    Window window;
    auto change = std::upper_bound(changes_.begin(), changes_.end(), from,
                                   [](std::uint64_t sequence, const Change& c) { return sequence < c.sequence; });
    for (; change != changes_.end() && change->sequence < to; ++change) {
      // Another launch of this graph leaves its own inputs as they are.
      if (change->graph == &timed_) continue;
      window.blind = window.blind || change->blind;
      if (change->graph == nullptr && !change->blind) refresh(*change->call, window);
      if (change->graph != nullptr)
        for (const Touch& touch : change->graph->touches)
          if (touch.mode != Mode::read)
            index_.each(touch.begin, touch.end, [&](std::uint32_t id) { window.refreshed.insert(id); });
    }
    return window;
  }

  void refresh(const ApiEvent& call, Window& window) {
    index_.each(call.address, call.address + call.bytes, [&](std::uint32_t id) { window.refreshed.insert(id); });
  }

  const SubjectView& view_;
  const TimedGraph& timed_;
  const std::vector<Change>& changes_;
  std::vector<Input> inputs_;
  AddressIndex index_;
  std::map<std::size_t, Miss> misses_;
  bool blind_ = false;
};

void report_miss(const SubjectView& view, const Follower& follower, std::size_t id, const Miss& miss, Report& report) {
  const Input& input = follower.input(id);
  const GraphView& graph = view.graphs()[input.view];
  const std::string name = follower.name(id);
  std::vector<std::string> others;
  for (const std::size_t other : miss.others) others.push_back(follower.name(other));
  Finding finding = new_finding("RF409", graph, Certainty::contract);
  finding.count = miss.count;
  finding.nodes = input.readers;
  finding.where = place(graph, finding.nodes, {name});
  finding.message = fmt::format(
      "{} was written before launch 1 and not before launch {} (event {}), though {} {}: the replay reads what an "
      "earlier step left there",
      name, miss.turn, miss.first->sequence, list_names(others), others.size() == 1 ? "was" : "were");
  if (miss.count > 1) finding.evidence.push_back(fmt::format("{} launches missed it", miss.count));
  finding.fix = fmt::format(
      "write {} before every launch; where a step has no value for it, fill it with one that changes nothing", name);
  report.add(std::move(finding), std::vector<std::string>{name});
}

}  // namespace

void check_rf409(const SubjectView& view, Report& report) {
  if (!has_timelines(view, report, "RF409", "a graph alone does not show the calls between its launches")) return;
  const GraphLives lives(view);
  tell_untied_graphs(view, lives, report, "RF409");
  tell_unknown_nodes(view, report, "RF409");
  for (const Recording* recording : view.timelines()) {
    const Traffic traffic(view, lives, *recording);
    const std::vector<Change> changes = changes_of(recording->timeline, traffic);
    for (const TimedGraph& timed : traffic.graphs()) {
      Follower follower(view, timed, changes);
      follower.run();
      for (const auto& [id, miss] : follower.misses()) report_miss(view, follower, id, miss, report);
      if (follower.was_blind())
        report.not_checked("RF409", fmt::format("{}: eager kernels ran between its launches and may have refreshed an "
                                                "input",
                                                place(view.graphs()[timed.views.front()])));
    }
  }
}

}  // namespace refrain
