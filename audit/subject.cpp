#include "audit/subject.hpp"

#include <fmt/format.h>

#include <utility>

namespace refrain {

const Topology& GraphView::topology() const {
  if (!topology_) topology_ = std::make_unique<Topology>(*graph_);
  return *topology_;
}

const FactsResult& GraphView::facts() const {
  if (!facts_) facts_ = std::make_unique<FactsResult>(analyse_facts(*graph_, topology()));
  return *facts_;
}

const Causes& GraphView::causes() const {
  if (!causes_) causes_ = std::make_unique<Causes>(find_causes(facts(), topology(), parent_.has_value()));
  return *causes_;
}

SubjectView::SubjectView(const Subject& subject) : subject_(&subject) {
  for (const Recording& recording : subject.recordings) {
    if (recording.has_timeline) timelines_.push_back(&recording);
    for (std::size_t i = 0; i < recording.graphs.size(); ++i) {
      const Graph& graph = recording.graphs[i];
      add(recording, graph, graph.name.empty() ? fmt::format("graph {}", i) : graph.name, std::nullopt);
    }
  }
}

void SubjectView::add(const Recording& recording, const Graph& graph, std::string path,
                      std::optional<NodeKind> parent) {
  graphs_.emplace_back(recording, graph, path, parent);
  for (NodeId node = 0; node < graph.nodes.size(); ++node) {
    const auto& bodies = graph.nodes[node].bodies;
    for (std::size_t i = 0; i < bodies.size(); ++i)
      add(recording, bodies[i],
          fmt::format("{}/node {}/{}", path, node, bodies[i].name.empty() ? fmt::format("body {}", i) : bodies[i].name),
          graph.nodes[node].kind);
  }
}

}  // namespace refrain
