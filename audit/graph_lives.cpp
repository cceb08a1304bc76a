#include "audit/graph_lives.hpp"

#include <algorithm>
#include <unordered_map>

#include "audit/captures.hpp"

namespace refrain {
namespace {

/// Follows the handles of one timeline, which a driver may hand out again.
class Follower {
 public:
  explicit Follower(const Recording& recording) : timeline_(recording.timeline), lives_(recording.graphs.size()) {
    tie();
  }

  std::vector<GraphLife> run() {
    for (const ApiEvent& call : timeline_.calls) {
      if (call.api == Api::begin_capture && call.code == 0) begun_[call.capture] = call.sequence;
      if (call.api == Api::end_capture && call.code == 0) captured(call);
      if (call.code == 0) follow(call);
    }
    return std::move(lives_);
  }

 private:
  struct Tie {
    std::uint64_t sequence = 0;
    std::uint32_t graph = 0;
  };

  void tie() {
    for (const GraphEvent& event : timeline_.graphs) {
      if (event.graph >= lives_.size()) continue;
      ties_[event.handle].push_back({event.sequence, event.graph});
      GraphLife& life = lives_[event.graph];
      life.tied = true;
      life.captured = event.sequence;
    }
  }

  /// The graph that the handle means from now on: the first one that is tied to it after this, else the last before.
  void captured(const ApiEvent& call) {
    const auto ties = ties_.find(call.made);
    graphs_.erase(call.made);
    if (ties == ties_.end()) return;
    for (const Tie& tie : ties->second)
      if (tie.sequence > call.sequence) {
        GraphLife& life = lives_[tie.graph];
        life.captured = call.sequence;
        life.capture = call.capture;
        if (const auto begin = begun_.find(call.capture); begin != begun_.end()) life.begun = begin->second;
        graphs_[call.made] = tie.graph;
        return;
      }
  }

  [[nodiscard]] std::optional<std::uint32_t> graph_of(std::uint64_t handle) const {
    if (const auto known = graphs_.find(handle); known != graphs_.end()) return known->second;
    const auto ties = ties_.find(handle);
    // Its capture was not seen: a handle that one graph alone is tied to means that graph.
    if (ties == ties_.end() || ties->second.size() != 1) return std::nullopt;
    return ties->second.front().graph;
  }

  void follow(const ApiEvent& call) {
    switch (call.api) {
      case Api::graph_instantiate: instantiate(call); break;
      case Api::graph_launch:
        if (ExecLife* exec = exec_of(call.object); exec != nullptr && ran_at_once(call))
          exec->launches.push_back(&call);
        break;
      case Api::graph_exec_destroy: retire(call, false); break;
      case Api::graph_exec_update: update(call); break;
      case Api::graph_destroy:
        if (const auto graph = graph_of(call.object)) lives_[*graph].destroyed = call.sequence;
        break;
      default: break;
    }
  }

  void instantiate(const ApiEvent& call) {
    execs_.erase(call.made);
    const auto graph = graph_of(call.object);
    if (!graph) return;
    GraphLife& life = lives_[*graph];
    execs_[call.made] = {*graph, life.execs.size()};
    ExecLife exec;
    exec.made = call.sequence;
    life.execs.push_back(std::move(exec));
  }

  /// The exec goes on under its handle with the nodes of another graph.
  void update(const ApiEvent& call) {
    if (call.made == 0) return retire(call, true);
    const auto graph = graph_of(call.made);
    retire(call, !graph.has_value());
    if (!graph.has_value()) return;
    GraphLife& life = lives_[*graph];
    execs_[call.object] = {*graph, life.execs.size()};
    life.execs.push_back({call.sequence, std::nullopt, {}});
  }

  void retire(const ApiEvent& call, bool updated) {
    ExecLife* exec = exec_of(call.object);
    if (exec == nullptr) return;
    exec->gone = call.sequence;
    if (updated) lives_[execs_[call.object].first].updated = true;
    execs_.erase(call.object);
  }

  ExecLife* exec_of(std::uint64_t handle) {
    const auto found = execs_.find(handle);
    return found == execs_.end() ? nullptr : &lives_[found->second.first].execs[found->second.second];
  }

  const Timeline& timeline_;
  std::vector<GraphLife> lives_;
  std::unordered_map<std::uint64_t, std::vector<Tie>> ties_;
  std::unordered_map<std::uint64_t, std::uint32_t> graphs_;                         // handle -> graph
  std::unordered_map<std::uint64_t, std::pair<std::uint32_t, std::size_t>> execs_;  // handle -> graph, exec
  std::unordered_map<std::uint32_t, std::uint64_t> begun_;                          // capture -> sequence
};

}  // namespace

std::vector<GraphLife> lives_of(const Recording& recording) {
  return Follower(recording).run();
}

RunAfter run_after(const GraphLife& life, std::uint64_t sequence) {
  RunAfter after;
  for (const ExecLife& exec : life.execs) {
    const auto first = std::upper_bound(exec.launches.begin(), exec.launches.end(), sequence,
                                        [](std::uint64_t s, const ApiEvent* launch) { return s < launch->sequence; });
    after.launches += static_cast<std::uint64_t>(exec.launches.end() - first);
    if (first != exec.launches.end() && (after.first == nullptr || (*first)->sequence < after.first->sequence))
      after.first = *first;
    if (!exec.gone) after.exposed = true;
  }
  if (life.execs.empty() && !life.destroyed) after.exposed = true;
  return after;
}

GraphLives::GraphLives(const SubjectView& view) {
  for (const Recording* recording : view.timelines()) lives_.emplace(recording, lives_of(*recording));
  const Recording* current = nullptr;
  std::size_t root = 0;
  for (const GraphView& graph : view.graphs()) {
    if (&graph.recording() != current) {
      current = &graph.recording();
      root = 0;
    } else if (!graph.parent()) {
      ++root;
    }
    const auto lives = lives_.find(current);
    const GraphLife* life = lives == lives_.end() ? nullptr : &lives->second[root];
    by_index_.push_back(life != nullptr && life->tied ? life : nullptr);
  }
}

}  // namespace refrain
