#include "graphs/diff.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "graphs/align.hpp"
#include "graphs/topology.hpp"

namespace refrain {
namespace {

std::string key_of(const Node& node) {
  const std::string& name = !node.op.empty() ? node.op : !node.mangled.empty() ? node.mangled : node.name;
  return fmt::format("{}:{}", to_string(node.kind), node.kind == NodeKind::kernel ? name : node.op);
}

std::vector<std::string> keys_in_order(const Graph& graph, std::vector<NodeId>& order) {
  const Topology topology(graph, 0);
  order.assign(topology.order().begin(), topology.order().end());
  std::vector<std::string> keys;
  for (const NodeId node : order) keys.push_back(key_of(graph.nodes[node]));
  return keys;
}

std::string dims(const Dim3& d) {
  return fmt::format("{}x{}x{}", d.x, d.y, d.z);
}

/// What a contract says, without addresses: buffer role and name, range, mode, reach, dtype; needs and gives.
std::multiset<std::string> contract_lines(const Graph& graph, const Node& node) {
  std::multiset<std::string> lines;
  const auto name = [&](BufferId id) {
    return graph.buffers[id].name.empty() ? to_string(graph.buffers[id].role) : graph.buffers[id].name;
  };
  for (const NodeAccess& a : node.accesses)
    lines.insert(fmt::format("{} {} of {} [{}, {}) as {}", to_string(a.reach), to_string(a.mode), name(a.buffer),
                             a.range.begin, a.range.end, to_string(a.dtype)));
  for (const NodeClaim& c : node.needs)
    lines.insert(fmt::format("needs {} of {} [{}, {})", to_string(c.fact), name(c.buffer), c.range.begin, c.range.end));
  for (const NodeClaim& c : node.gives)
    lines.insert(fmt::format("gives {} of {} [{}, {})", to_string(c.fact), name(c.buffer), c.range.begin, c.range.end));
  return lines;
}

void add(std::string& what, const std::string& change) {
  if (!what.empty()) what += "; ";
  what += change;
}

/// Sizes and offsets, not bytes: `5 -> 6 parameters`, or the first one that lies or measures otherwise.
std::string param_changes(const Node& a, const Node& b) {
  if (a.params.size() != b.params.size()) return fmt::format("{} -> {} parameters", a.params.size(), b.params.size());
  for (std::size_t i = 0; i < a.params.size(); ++i) {
    const Param &p = a.params[i], &q = b.params[i];
    if (p.size != q.size || p.offset != q.offset)
      return fmt::format("parameter {}: {} bytes at {} -> {} bytes at {}", i, p.size, p.offset, q.size, q.offset);
  }
  return {};
}

std::string changes(const Graph& ga, const Node& a, const Graph& gb, const Node& b) {
  std::string what;
  if (!(a.grid == b.grid)) add(what, fmt::format("grid {} -> {}", dims(a.grid), dims(b.grid)));
  if (!(a.block == b.block)) add(what, fmt::format("block {} -> {}", dims(a.block), dims(b.block)));
  if (a.shared_bytes != b.shared_bytes)
    add(what, fmt::format("shared memory {} -> {} bytes", a.shared_bytes, b.shared_bytes));
  if (const std::string change = param_changes(a, b); !change.empty()) add(what, change);
  if (a.copy && b.copy) {
    const auto way = [](const CopyInfo& copy) {
      return fmt::format("{} to {}", to_string(copy.src_space), to_string(copy.dst_space));
    };
    if (way(*a.copy) != way(*b.copy)) add(what, fmt::format("copies {} -> {}", way(*a.copy), way(*b.copy)));
  }
  const auto bytes = [](const Node& n) {
    return n.copy ? n.copy->bytes : n.fill ? n.fill->bytes : n.allocation ? n.allocation->bytes : 0;
  };
  if (bytes(a) != bytes(b)) add(what, fmt::format("{} -> {} bytes", bytes(a), bytes(b)));
  if (a.fill && b.fill && a.fill->value != b.fill->value)
    add(what, fmt::format("fills with {} -> {}", a.fill->value, b.fill->value));
  const auto before = contract_lines(ga, a), after = contract_lines(gb, b);
  std::vector<std::string> lost, won;
  std::set_difference(before.begin(), before.end(), after.begin(), after.end(), std::back_inserter(lost));
  std::set_difference(after.begin(), after.end(), before.begin(), before.end(), std::back_inserter(won));
  for (const std::string& line : lost) add(what, "no more " + line);
  for (const std::string& line : won) add(what, "now " + line);
  return what;
}

void diff_edges(const Graph& graph, const std::map<NodeId, NodeId>& to_other, const Graph& other,
                std::vector<EdgeRef>& missing) {
  std::set<std::tuple<NodeId, NodeId, EdgeKind>> there;
  for (const Edge& edge : other.edges) there.emplace(edge.from, edge.to, edge.kind);
  for (const Edge& edge : graph.edges) {
    const auto from = to_other.find(edge.from), to = to_other.find(edge.to);
    if (from == to_other.end() || to == to_other.end()) continue;
    if (!there.contains({from->second, to->second, edge.kind})) missing.push_back({edge.from, edge.to, edge.kind});
  }
}

void diff_bodies(const Graph& a, NodeId na, const Graph& b, NodeId nb, std::vector<std::string>& lines) {
  const auto &left = a.nodes[na].bodies, &right = b.nodes[nb].bodies;
  if (left.size() != right.size()) {
    lines.push_back(fmt::format("{}: {} -> {} bodies", describe(a, na), left.size(), right.size()));
    return;
  }
  for (std::size_t i = 0; i < left.size(); ++i) {
    const GraphDiff inside = diff_graphs(left[i], right[i]);
    if (inside.empty()) continue;
    lines.push_back(fmt::format("{}, body {}: {} nodes removed, {} added, {} changed, {} edges differ", describe(a, na),
                                i, inside.removed.size(), inside.added.size(),
                                inside.changed.size() + inside.bodies.size(),
                                inside.edges_removed.size() + inside.edges_added.size()));
  }
}

/// Each node of the graph and of its bodies, by what it is.
template <class Count>
void take_census(const Graph& graph, Count count) {
  for (const Node& node : graph.nodes) {
    const std::string& name = !node.op.empty() ? node.op : node.name;
    count(node.kind == NodeKind::kernel && !name.empty() ? fmt::format("kernel {}", name) : to_string(node.kind));
    for (const Graph& body : node.bodies) take_census(body, count);
  }
}

}  // namespace

std::vector<CensusRow> census(const Graph& a, const Graph& b) {
  std::map<std::string, CensusRow> rows;
  take_census(a, [&](const std::string& what) { ++rows[what].a; });
  take_census(b, [&](const std::string& what) { ++rows[what].b; });
  std::vector<CensusRow> list;
  for (auto& [what, row] : rows) list.push_back({what, row.a, row.b});
  return list;
}

bool GraphDiff::empty() const {
  return removed.empty() && added.empty() && changed.empty() && edges_removed.empty() && edges_added.empty() &&
         bodies.empty();
}

GraphDiff diff_graphs(const Graph& a, const Graph& b) {
  std::vector<NodeId> order_a, order_b;
  const std::vector<std::string> keys_a = keys_in_order(a, order_a), keys_b = keys_in_order(b, order_b);
  std::map<NodeId, NodeId> a_to_b, b_to_a;
  GraphDiff diff;
  for (const auto& [i, j] : align(keys_a, keys_b)) {
    const NodeId na = order_a[i], nb = order_b[j];
    a_to_b[na] = nb;
    b_to_a[nb] = na;
    if (std::string what = changes(a, a.nodes[na], b, b.nodes[nb]); !what.empty())
      diff.changed.push_back({na, nb, std::move(what)});
    diff_bodies(a, na, b, nb, diff.bodies);
  }
  for (const NodeId node : order_a)
    if (!a_to_b.contains(node)) diff.removed.push_back(node);
  for (const NodeId node : order_b)
    if (!b_to_a.contains(node)) diff.added.push_back(node);
  diff_edges(a, a_to_b, b, diff.edges_removed);
  diff_edges(b, b_to_a, a, diff.edges_added);
  return diff;
}

}  // namespace refrain
