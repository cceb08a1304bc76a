// RF707: two graphs hold collectives of one NCCL communicator and are launched on
// streams that nothing orders. The ranks may then run the two in different orders,
// and all of them wait for ever. The communicator is the first word of an NCCL
// kernel's parameters.
#include <fmt/format.h>

#include <map>
#include <set>

#include "audit/rules/checks.hpp"
#include "audit/rules/launched_graphs.hpp"
#include "audit/rules/overlaps.hpp"
#include "audit/rules/param_words.hpp"
#include "audit/rules/words.hpp"

namespace refrain {
namespace {

/// The collectives of one graph and its bodies.
struct Collectives {
  std::set<Address> communicators;
  std::string kernel;  // the first one's name
  std::size_t hidden = 0;
};

bool is_nccl(const Node& node) {
  const auto named = [&](const char* part) {
    return node.name.find(part) != std::string::npos || node.mangled.find(part) != std::string::npos;
  };
  return node.kind == NodeKind::kernel && (named("ncclDevKernel") || named("ncclKernel"));
}

void collect(const Graph& graph, Collectives& out) {
  for (const Node& node : graph.nodes) {
    for (const Graph& body : node.bodies) collect(body, out);
    if (!is_nccl(node)) continue;
    if (out.kernel.empty()) out.kernel = name_of(node);
    Address communicator = 0;
    each_param_word(node, [&](std::size_t index, std::size_t at, Address word) {
      if (index == 0 && at == 0) communicator = word;
    });
    if (communicator == 0)
      ++out.hidden;
    else
      out.communicators.insert(communicator);
  }
}

struct Shared {
  const ApiEvent* earlier = nullptr;
  const ApiEvent* later = nullptr;
  std::uint64_t count = 0;
};

class Check {
 public:
  Check(const Recording& recording, Report& report)
      : recording_(recording), report_(report), graphs_(launched_graphs(recording)) {
    for (const Graph& graph : recording.graphs) collect(graph, collectives_[&graph]);
  }

  void run() {
    for (const auto& [graph, collectives] : collectives_)
      if (collectives.hidden > 0)
        report_.not_checked("RF707",
                            "a graph holds NCCL kernels without their parameters: which communicator they use "
                            "is not known");
    for (const ApiEvent& call : recording_.timeline.calls) {
      overlaps_.follow(call);
      const auto graph = graphs_.find(&call);
      if (graph == graphs_.end()) continue;
      for (const Address communicator : collectives_.at(graph->second).communicators) launch(communicator, call);
    }
    for (const auto& [pair, shared] : shared_) report_pair(shared);
  }

 private:
  // The same exec twice is run once at a time: rule 706's.
  void launch(Address communicator, const ApiEvent& call) {
    overlaps_.launch(communicator, call, [&](const ApiEvent& earlier) {
      if (earlier.object == call.object) return;
      Shared& shared = shared_[{std::min(earlier.object, call.object), std::max(earlier.object, call.object)}];
      if (shared.count++ == 0) shared.earlier = &earlier, shared.later = &call;
    });
  }

  void report_pair(const Shared& shared) {
    const Graph& first = *graphs_.at(shared.earlier);
    const Graph& second = *graphs_.at(shared.later);
    Finding finding = new_finding("RF707", Certainty::inferred);
    finding.count = shared.count;
    finding.where = fmt::format("cudaGraphLaunch on stream {}, after one on stream {}", shared.later->stream,
                                shared.earlier->stream);
    finding.message = fmt::format(
        "graphs {} and {} hold collectives of one communicator and were launched with no order between them, {}: ranks "
        "that run the two in different orders wait for each other for ever",
        first.name, second.name, shared.count == 1 ? "once" : fmt::format("{} times", shared.count));
    finding.evidence.push_back(
        fmt::format("collectives: {} and {}", collectives_.at(&first).kernel, collectives_.at(&second).kernel));
    finding.fix =
        "give each graph a communicator of its own (ncclCommSplit), or order the launches by one stream or an "
        "event";
    report_.add(std::move(finding), std::vector<std::string>{first.name, second.name});
  }

  const Recording& recording_;
  Report& report_;
  std::unordered_map<const ApiEvent*, const Graph*> graphs_;
  std::map<const Graph*, Collectives> collectives_;
  Overlaps overlaps_;
  std::map<std::pair<std::uint64_t, std::uint64_t>, Shared> shared_;
};

}  // namespace

void check_rf707(const SubjectView& view, Report& report) {
  if (!has_timelines(view, report, "RF707", "a graph alone does not show its launches")) return;
  for (const Recording* recording : view.timelines()) Check(*recording, report).run();
}

}  // namespace refrain
