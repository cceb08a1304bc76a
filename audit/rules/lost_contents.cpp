#include "audit/rules/lost_contents.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "audit/captures.hpp"
#include "audit/graph_lives.hpp"
#include "audit/rules/traffic.hpp"
#include "audit/rules/words.hpp"

namespace refrain {
namespace {

bool overlap(Address a, Address a_end, Address b, Address b_end) {
  return a < b_end && b < a_end;
}

std::vector<const ApiEvent*> unmappings(const Timeline& timeline) {
  std::vector<const ApiEvent*> found;
  for (const ApiEvent& call : timeline.calls)
    if (call.api == Api::mem_unmap && call.code == 0) found.push_back(&call);
  return found;
}

/// The graph's first launch after `sequence`; null when there is none.
const ApiEvent* launch_after(const GraphLife& life, std::uint64_t sequence) {
  const ApiEvent* first = nullptr;
  for (const ExecLife& exec : life.execs)
    for (const ApiEvent* launch : exec.launches)
      if (launch->sequence > sequence && (first == nullptr || launch->sequence < first->sequence)) first = launch;
  return first;
}

enum class Refill { none, done, unknown };

/// Whether something wrote [begin, end) between the two calls.
Refill refill_of(const Timeline& timeline, const Traffic& traffic, std::uint64_t after, std::uint64_t before,
                 Address begin, Address end) {
  Refill refill = Refill::none;
  // Calls stand in the order of their numbers, so that a long recording is not walked again for each loss.
  const auto first = std::upper_bound(timeline.calls.begin(), timeline.calls.end(), after,
                                      [](std::uint64_t sequence, const ApiEvent& c) { return sequence < c.sequence; });
  for (auto at = first; at != timeline.calls.end() && at->sequence < before; ++at) {
    const ApiEvent& call = *at;
    if (!ran_at_once(call)) continue;
    if (writes_at_once(call) && overlap(call.address, call.address + call.bytes, begin, end)) return Refill::done;
    if (call.api == Api::graph_launch) {
      const TimedGraph* graph = traffic.launched_by(call);
      if (graph == nullptr || graph->has_unknown) refill = Refill::unknown;
      if (graph == nullptr) continue;
      for (const Touch& touch : graph->touches)
        if (touch.mode != Mode::read && overlap(touch.begin, touch.end, begin, end)) return Refill::done;
    } else if (is_launch(call.api)) {
      refill = Refill::unknown;
    }
  }
  return refill;
}

std::vector<NodeId> readers_of(const Graph& graph, BufferId buffer) {
  std::vector<NodeId> readers;
  for (NodeId id = 0; id < graph.nodes.size(); ++id)
    for (const NodeAccess& access : graph.nodes[id].accesses)
      if (access.buffer == buffer && access.mode != Mode::write) {
        readers.push_back(id);
        break;
      }
  return readers;
}

struct Loss {
  const GraphView& view;
  const EntryFact& fact;
  const ApiEvent& unmapped;
  const ApiEvent& launch;
};

void report_loss(const Loss& loss, std::vector<NodeId> readers, Report& report, std::string_view rule) {
  const Graph& graph = loss.view.graph();
  const std::string name = name_of(graph, loss.fact.buffer);
  Finding finding = new_finding(rule, loss.view, Certainty::contract);
  finding.count = readers.size();
  finding.nodes = std::move(readers);
  finding.where = place(loss.view, finding.nodes, {name});
  finding.message = fmt::format(
      "{} was written once, lost its memory at event {} (cuMemUnmap), and nothing wrote it before the launch at event "
      "{}: {} reads whatever the new memory holds",
      name, loss.unmapped.sequence, loss.launch.sequence, describe(graph, finding.nodes.front()));
  if (!loss.fact.by.empty()) finding.evidence.push_back("written before by: " + loss.fact.by);
  finding.fix = fmt::format("write {} again after its memory is back and before the launch", name);
  report.add(std::move(finding), std::vector<std::string>{name});
}

class Search {
 public:
  Search(const GraphView& view, const GraphLife& life, const Traffic& traffic, Report& report, std::string_view rule)
      : view_(view), life_(life), traffic_(traffic), report_(report), rule_(rule) {}

  void run(const std::vector<const ApiEvent*>& unmapped) {
    for (const EntryFact& fact : view_.graph().entry)
      if (fact.origin != Origin::host_each_launch && !told_.contains(fact.buffer)) look(fact, unmapped);
  }

 private:
  void look(const EntryFact& fact, const std::vector<const ApiEvent*>& unmapped) {
    const Address base = view_.graph().buffers[fact.buffer].base;
    const Address begin = base + fact.range.begin, end = base + fact.range.end;
    for (const ApiEvent* call : unmapped) {
      if (base == 0 || !overlap(call->address, call->address + call->bytes, begin, end)) continue;
      const ApiEvent* launch = launch_after(life_, call->sequence);
      if (launch == nullptr) continue;
      const Timeline& timeline = view_.recording().timeline;
      const Refill refill = refill_of(timeline, traffic_, call->sequence, launch->sequence, begin, end);
      std::vector<NodeId> readers = readers_of(view_.graph(), fact.buffer);
      if (refill == Refill::done || readers.empty()) continue;
      if (refill == Refill::unknown) {
        report_.not_checked(rule_, "kernels ran between a cuMemUnmap and a launch, and may have written what was lost");
        continue;
      }
      told_.insert(fact.buffer);
      return report_loss({view_, fact, *call, *launch}, std::move(readers), report_, rule_);
    }
  }

  const GraphView& view_;
  const GraphLife& life_;
  const Traffic& traffic_;
  Report& report_;
  std::string_view rule_;
  std::set<BufferId> told_;
};

}  // namespace

void report_lost_contents(const SubjectView& view, Report& report, std::string_view rule) {
  const GraphLives lives(view);
  for (const Recording* recording : view.timelines()) {
    const std::vector<const ApiEvent*> unmapped = unmappings(recording->timeline);
    if (unmapped.empty()) continue;
    const Traffic traffic(view, lives, *recording);
    for (std::size_t i = 0; i < view.graphs().size(); ++i) {
      const GraphView& graph = view.graphs()[i];
      const GraphLife* life = lives.of(i);
      if (life != nullptr && &graph.recording() == recording) Search(graph, *life, traffic, report, rule).run(unmapped);
    }
  }
}

}  // namespace refrain
