#include "audit/cupti/live_graphs.hpp"

#include <functional>
#include <utility>

#include "graphs/readers.hpp"

namespace refrain {

std::uint64_t LiveGraphs::name_graph(std::uint64_t handle) {
  graphs_[handle] = {++numbers_, edits_, 0};
  return numbers_;
}

std::uint64_t LiveGraphs::read_as(std::uint64_t handle, const Graph& graph) {
  const std::size_t text = std::hash<std::string>{}(write_graph_json(graph));
  const auto known = graphs_.find(handle);
  if (known == graphs_.end() || (known->second.text != 0 && known->second.text != text)) name_graph(handle);
  Known& now = graphs_[handle];
  now.edits = edits_;
  now.text = text;
  return now.number;
}

std::uint64_t LiveGraphs::number_of(std::uint64_t handle) const {
  const auto known = graphs_.find(handle);
  return known == graphs_.end() || known->second.edits != edits_ ? 0 : known->second.number;
}

void LiveGraphs::instantiated(std::uint64_t handle, std::uint64_t graph) {
  execs_[handle] = {++numbers_, graph, 0};
}

LiveGraphs::Exec& LiveGraphs::exec(std::uint64_t handle) {
  Exec& known = execs_[handle];
  if (known.number == 0) known.number = ++numbers_;
  return known;
}

/// A handle that comes back is another graph's or node's: nothing that was noted of it may be taken for that one's.
void LiveGraphs::forget_graph(std::uint64_t handle) {
  graphs_.erase(handle);
  std::vector<std::uint64_t> bodies;
  std::erase_if(bodies_, [&](const auto& entry) {
    if (entry.second.owner != handle) return false;
    bodies.insert(bodies.end(), entry.second.graphs.begin(), entry.second.graphs.end());
    return true;
  });
  for (const std::uint64_t body : bodies) forget_graph(body);
}

Graph LiveGraphs::read(LiveDriver& driver, std::uint64_t handle, std::size_t level) const {
  WalkedGraph walked = driver.walk(handle);
  bool hidden = false;
  for (std::size_t i = 0; i < walked.handles.size(); ++i) {
    Node& node = walked.graph.nodes[i];
    if (const auto from = origins_.find(walked.handles[i]); from != origins_.end()) {
      node.scope = from->second.scope;
      node.call_site = from->second.call_site;
    }
    if (node.kind != NodeKind::conditional) continue;
    const auto bodies = bodies_.find(walked.handles[i]);
    const bool known = bodies != bodies_.end() && level < kMaxGraphNesting;
    hidden = hidden || !known;
    if (!known) continue;
    for (const std::uint64_t body : bodies->second.graphs) node.bodies.push_back(read(driver, body, level + 1));
  }
  auto& unseen = walked.graph.capture.unseen;
  // The walk cannot see any body; the ones that were noted when their nodes were made are there now.
  for (const Node& node : walked.graph.nodes)
    for (const Graph& body : node.bodies) hidden = hidden || body.capture.cannot_see(Unseen::bodies);
  if (!hidden) std::erase(unseen, Unseen::bodies);
  return std::move(walked.graph);
}

}  // namespace refrain
