#include "cli/diff_report.hpp"

#include <fmt/format.h>

#include "audit/reports/escape.hpp"

namespace refrain {
namespace {

using Json = nlohmann::ordered_json;

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

Json census_json(const GraphPair& pair) {
  Json list = Json::array();
  for (const CensusRow& row : census(pair.a, pair.b)) list.push_back({{"what", row.what}, {"a", row.a}, {"b", row.b}});
  return list;
}

std::string census_text(const GraphPair& pair) {
  std::string text;
  for (const CensusRow& row : census(pair.a, pair.b))
    if (row.a != row.b) text += fmt::format("census: {}: {} -> {}\n", visible(row.what), row.a, row.b);
  return text;
}

std::string update_text(const ExecUpdate& update) {
  std::string text = update.possible() ? fmt::format("exec update: {}; {} node{} with new parameters\n",
                                                     update.may_fail.empty() ? "possible" : "allowed, but it may fail",
                                                     update.absorbed, update.absorbed == 1 ? "" : "s")
                                       : std::string("exec update: refused, the graph has to be instantiated again\n");
  for (const std::string& why : update.refused) text += fmt::format("    {}\n", visible(why));
  for (const std::string& why : update.may_fail) text += fmt::format("    may fail: {}\n", visible(why));
  return text;
}

}  // namespace

GraphPair compare(const Graph& a, const Graph& b) {
  return {a, b, diff_graphs(a, b), exec_update(a, b)};
}

Json diff_json(const GraphPair& pair) {
  const GraphDiff& diff = pair.diff;
  Json changed = Json::array();
  for (const NodeChange& change : diff.changed)
    changed.push_back({{"a", change.a}, {"b", change.b}, {"name", describe(pair.a, change.a)}, {"what", change.what}});
  return {
      {"equal", diff.empty()},
      {"census", census_json(pair)},
      {"nodes", {{"removed", names(pair.a, diff.removed)}, {"added", names(pair.b, diff.added)}, {"changed", changed}}},
      {"edges", {{"removed", edges(diff.edges_removed)}, {"added", edges(diff.edges_added)}}},
      {"bodies", diff.bodies},
      {"exec_update",
       {{"possible", pair.update.possible()},
        {"absorbed", pair.update.absorbed},
        {"refused", pair.update.refused},
        {"may_fail", pair.update.may_fail}}}};
}

std::string diff_text(const GraphPair& pair) {
  const auto& [a, b, diff, update] = pair;
  if (diff.empty())
    return fmt::format("equal: {} nodes, {} edges, fingerprint {}\n{}", a.nodes.size(), a.edges.size(), fingerprint(a),
                       update_text(update));
  std::string text;
  const auto line = [&](char sign, const std::string& what) { text += fmt::format("{} {}\n", sign, visible(what)); };
  for (const NodeId node : diff.removed) line('-', describe(a, node));
  for (const NodeId node : diff.added) line('+', describe(b, node));
  for (const NodeChange& change : diff.changed) line('~', fmt::format("{}: {}", describe(a, change.a), change.what));
  for (const EdgeRef& e : diff.edges_removed)
    line('-', fmt::format("edge {} -> {}", describe(a, e.from), describe(a, e.to)));
  for (const EdgeRef& e : diff.edges_added)
    line('+', fmt::format("edge {} -> {}", describe(b, e.from), describe(b, e.to)));
  for (const std::string& body : diff.bodies) line('~', body);
  return text + census_text(pair) + update_text(update);
}

}  // namespace refrain
