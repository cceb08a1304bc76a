#include "audit/audit.hpp"

#include <algorithm>

#include "audit/rules.hpp"

namespace refrain {

Report audit(const Subject& subject) {
  const SubjectView view(subject);
  Report report;
  for (const Recording& recording : subject.recordings) report.inputs.push_back(recording.name);
  for (const GraphView& graph : view.graphs()) {
    const auto& nodes = graph.graph().nodes;
    report.nodes += nodes.size();
    report.unknown_nodes += static_cast<std::uint64_t>(std::count_if(nodes.begin(), nodes.end(), is_unknown));
  }
  for (const Rule& rule : rules()) rule.check(view, report);
  return report;
}

}  // namespace refrain
