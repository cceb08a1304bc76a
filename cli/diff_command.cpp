// refrain diff: two graphs, what differs, and an exit code for golden checks in CI.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "cli/command.hpp"
#include "graphs/diff.hpp"
#include "graphs/error.hpp"
#include "traces/readers.hpp"

namespace refrain {
namespace {

using Json = nlohmann::ordered_json;

struct DiffFlags {
  std::string a, b;
  Format format = Format::text;
};

Graph load_one(const std::string& file) {
  Recording recording = load_recording(file);
  if (recording.graphs.size() != 1)
    throw Error(ErrorKind::input, "graphs",
                fmt::format("expected one graph to compare, found {}", recording.graphs.size()), file);
  return std::move(recording.graphs.front());
}

Json names(const Graph& graph, const std::vector<NodeId>& nodes) {
  Json list = Json::array();
  for (const NodeId node : nodes) list.push_back({{"id", node}, {"name", describe(graph, node)}});
  return list;
}

Json edges(const std::vector<EdgeRef>& refs) {
  Json list = Json::array();
  for (const EdgeRef& edge : refs)
    list.push_back({{"from", edge.from}, {"to", edge.to}, {"kind", to_string(edge.kind)}});
  return list;
}

std::string diff_json(const DiffFlags& flags, const Graph& a, const Graph& b, const GraphDiff& diff) {
  Json changed = Json::array();
  for (const NodeChange& change : diff.changed)
    changed.push_back({{"a", change.a}, {"b", change.b}, {"name", describe(a, change.a)}, {"what", change.what}});
  const Json json{
      {"schema", "refrain.diff/1"},
      {"a", flags.a},
      {"b", flags.b},
      {"equal", diff.empty()},
      {"nodes", {{"removed", names(a, diff.removed)}, {"added", names(b, diff.added)}, {"changed", changed}}},
      {"edges", {{"removed", edges(diff.edges_removed)}, {"added", edges(diff.edges_added)}}},
      {"bodies", diff.bodies}};
  return json.dump(2) + "\n";
}

std::string diff_text(const Graph& a, const Graph& b, const GraphDiff& diff) {
  if (diff.empty())
    return fmt::format("equal: {} nodes, {} edges, fingerprint {}\n", a.nodes.size(), a.edges.size(), fingerprint(a));
  std::string text;
  for (const NodeId node : diff.removed) text += fmt::format("- {}\n", describe(a, node));
  for (const NodeId node : diff.added) text += fmt::format("+ {}\n", describe(b, node));
  for (const NodeChange& change : diff.changed) text += fmt::format("~ {}: {}\n", describe(a, change.a), change.what);
  for (const EdgeRef& e : diff.edges_removed)
    text += fmt::format("- edge {} -> {}\n", describe(a, e.from), describe(a, e.to));
  for (const EdgeRef& e : diff.edges_added)
    text += fmt::format("+ edge {} -> {}\n", describe(b, e.from), describe(b, e.to));
  for (const std::string& line : diff.bodies) text += fmt::format("~ {}\n", line);
  return text;
}

int run(const DiffFlags& flags) {
  const Graph a = load_one(flags.a), b = load_one(flags.b);
  const GraphDiff diff = diff_graphs(a, b);
  fmt::print("{}", flags.format == Format::json ? diff_json(flags, a, b, diff) : diff_text(a, b, diff));
  return diff.empty() ? kExitClean : kExitFindings;
}

}  // namespace

std::function<int()> declare_diff(CLI::App& app) {
  auto flags = std::make_shared<DiffFlags>();
  app.add_option("a", flags->a, "a graph, or a recording with one graph")->required();
  app.add_option("b", flags->b, "what to compare it with")->required();
  add_format(app, flags->format);
  return [flags] { return run(*flags); };
}

}  // namespace refrain
