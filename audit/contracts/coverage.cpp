// Which nodes have a contract and from where, which have none and why, and which
// patterns fitted nothing: as text and as JSON.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

#include "audit/contracts/apply.hpp"

namespace refrain {
namespace {

using Json = nlohmann::ordered_json;
using State = NodeCoverage::State;

const char* to_string(State state) {
  switch (state) {
    case State::own: return "own";
    case State::from_file: return "from_file";
    case State::unresolved: return "unresolved";
    case State::unknown: return "unknown";
  }
  return "unknown";
}

std::size_t count(const ContractCoverage& coverage, State state) {
  return static_cast<std::size_t>(std::count_if(coverage.nodes.begin(), coverage.nodes.end(),
                                                [&](const NodeCoverage& node) { return node.state == state; }));
}

std::string line_of(const NodeCoverage& node) {
  const std::string place = fmt::format("{}, {}", node.graph, node.node);
  switch (node.state) {
    case State::own: return fmt::format("{}: its maker's", place);
    case State::from_file: return fmt::format("{}: {}", place, node.source);
    case State::unresolved:
      return fmt::format("{}: {} fits, but {}; the node stays unknown", place, node.source, node.reason);
    case State::unknown: break;
  }
  return fmt::format("{}: none, {}", place, node.reason);
}

std::string line_of(const ContractUse& use) {
  if (use.fits == 0) return fmt::format("{}: {} fits no kernel", use.file, use.id);
  return fmt::format("{}: {} fits {} node{}, given to {} ({})", use.file, use.id, use.fits, use.fits == 1 ? "" : "s",
                     use.given, use.basis);
}

}  // namespace

std::string coverage_text(const ContractCoverage& coverage, bool all) {
  fmt::memory_buffer out;
  const auto to = std::back_inserter(out);
  for (const ContractUse& use : coverage.uses)
    if (all || use.fits == 0) fmt::format_to(to, "    {}\n", line_of(use));
  for (const NodeCoverage& node : coverage.nodes)
    if (all || node.state == State::unresolved) fmt::format_to(to, "    {}\n", line_of(node));
  if (out.size() == 0) return {};
  return fmt::format(
      "nodes with a contract: {} of their maker, {} of a file; without: {} that a pattern fits and the graph does not "
      "resolve, {} others\n{}\n",
      count(coverage, State::own), count(coverage, State::from_file), count(coverage, State::unresolved),
      count(coverage, State::unknown), fmt::to_string(out));
}

std::string coverage_json(const ContractCoverage& coverage) {
  Json nodes = Json::array(), uses = Json::array();
  for (const NodeCoverage& node : coverage.nodes)
    nodes.push_back({{"graph", node.graph},
                     {"node", node.node},
                     {"state", to_string(node.state)},
                     {"source", node.source},
                     {"reason", node.reason}});
  for (const ContractUse& use : coverage.uses)
    uses.push_back(
        {{"file", use.file}, {"id", use.id}, {"basis", use.basis}, {"fits", use.fits}, {"given", use.given}});
  const Json json{{"contracts", std::move(uses)}, {"nodes", std::move(nodes)}};
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace refrain
