#include "runtime/host/host_graph.hpp"

#include <algorithm>
#include <utility>

namespace refrain {

HostNode& HostCapture::append(Stream stream, Node node, std::function<void()> run) {
  std::vector<std::uint64_t>& last = frontier.at(stream.id);
  graph.nodes.push_back({std::move(node), last, std::move(run), false, nullptr});
  last = {graph.nodes.size()};
  return graph.nodes.back();
}

void HostCapture::depend(Stream stream, const std::vector<std::uint64_t>& nodes) {
  std::vector<std::uint64_t>& last = frontier[stream.id];
  for (const std::uint64_t node : nodes)
    if (std::find(last.begin(), last.end(), node) == last.end()) last.push_back(node);
}

bool HostCapture::joined() const {
  std::vector<bool> reached(graph.nodes.size() + 1, false);
  for (const std::uint64_t node : frontier.at(origin.id)) reached[node] = true;
  for (std::size_t at = graph.nodes.size(); at > 0; --at)
    if (reached[at])
      for (const std::uint64_t before : graph.nodes[at - 1].dependencies) reached[before] = true;
  return std::all_of(reached.begin() + 1, reached.end(), [](bool r) { return r; });
}

}  // namespace refrain
