#include "audit/reports/places.hpp"

#include "graphs/text.hpp"

namespace refrain {
namespace {

std::string key_of(const std::string& input, const std::string& path) {
  return input + '\0' + path;
}

}  // namespace

Places::Places(std::span<const Subject> subjects) {
  for (const Subject& subject : subjects) {
    const SubjectView& view = views_.emplace_back(subject);
    for (const GraphView& graph : view.graphs()) graphs_.emplace(key_of(graph.recording().name, graph.path()), &graph);
  }
}

const GraphView* Places::graph(const Finding& finding) const {
  if (finding.graph.empty()) return nullptr;
  const auto at = graphs_.find(key_of(finding.input, finding.graph));
  return at == graphs_.end() ? nullptr : at->second;
}

std::optional<CallSite> Places::call_site(const Finding& finding) const {
  const GraphView* view = graph(finding);
  if (view == nullptr) return std::nullopt;
  for (const NodeId node : finding.nodes)
    if (node < view->graph().nodes.size())
      if (auto site = parse_call_site(view->graph().nodes[node].call_site)) return site;
  return std::nullopt;
}

std::optional<CallSite> parse_call_site(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return std::nullopt;
  const auto line = parse_unsigned(text.substr(colon + 1));
  if (!line || *line == 0 || *line > 0x7FFFFFFF) return std::nullopt;
  return CallSite{std::string(text.substr(0, colon)), *line};
}

}  // namespace refrain
