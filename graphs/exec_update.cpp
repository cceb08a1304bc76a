#include "graphs/exec_update.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "graphs/topology.hpp"

namespace refrain {
namespace {

/// CUDA's memory types as far as an update tells them apart: pinned and pageable are both host memory.
enum class Side : std::uint8_t { unknown, host, device, managed };

Side side_of(MemorySpace space) {
  switch (space) {
    case MemorySpace::pinned:
    case MemorySpace::pageable: return Side::host;
    case MemorySpace::device: return Side::device;
    case MemorySpace::managed: return Side::managed;
    case MemorySpace::unknown: break;
  }
  return Side::unknown;
}

bool same_params(const Node& a, const Node& b) {
  return std::equal(a.params.begin(), a.params.end(), b.params.begin(), b.params.end(),
                    [](const Param& x, const Param& y) { return x.offset == y.offset && x.bytes == y.bytes; });
}

bool same_function(const Node& a, const Node& b) {
  return a.mangled.empty() || b.mangled.empty() ? a.name == b.name : a.mangled == b.mangled;
}

class Update {
 public:
  Update(ExecUpdate& result, std::string path) : result_(result), path_(std::move(path)) {}

  void compare(const Graph& from, const Graph& to) {
    if (from.nodes.size() != to.nodes.size())
      return refuse(fmt::format("{} nodes -> {}: the topology changed", from.nodes.size(), to.nodes.size()));
    const Topology left(from, 0), right(to, 0);
    if (!same_topology(from, left, to, right)) return;
    for (std::size_t i = 0; i < left.order().size(); ++i) compare(from, left.order()[i], to, right.order()[i]);
  }

 private:
  void refuse(const std::string& why) { result_.refused.push_back(path_ + why); }

  // Nodes are paired by their place in the order; every one must be of the same kind and wait for the same ones.
  bool same_topology(const Graph& from, const Topology& left, const Graph& to, const Topology& right) {
    using Key = std::tuple<std::uint32_t, std::uint32_t, EdgeKind>;
    std::set<Key> edges, others;
    for (const Edge& edge : from.edges) edges.emplace(left.position(edge.from), left.position(edge.to), edge.kind);
    for (const Edge& edge : to.edges) others.emplace(right.position(edge.from), right.position(edge.to), edge.kind);
    for (std::size_t i = 0; i < left.order().size(); ++i) {
      const NodeId a = left.order()[i], b = right.order()[i];
      if (from.nodes[a].kind == to.nodes[b].kind) continue;
      refuse(fmt::format("{} is a {} where {} is a {}: the type of a node changed", describe(to, b),
                         to_string(to.nodes[b].kind), describe(from, a), to_string(from.nodes[a].kind)));
      return false;
    }
    if (edges == others) return true;
    std::vector<Key> differ;
    std::set_symmetric_difference(edges.begin(), edges.end(), others.begin(), others.end(), std::back_inserter(differ));
    refuse(fmt::format("{} edges differ, the first one into {}: the topology changed", differ.size(),
                       describe(to, right.order()[std::get<1>(differ.front())])));
    return false;
  }

  void compare(const Graph& from, NodeId a, const Graph& to, NodeId b) {
    const Node &old_node = from.nodes[a], &new_node = to.nodes[b];
    const std::string name = describe(to, b);
    switch (new_node.kind) {
      case NodeKind::memcpy: compare_copy(old_node, new_node, name); break;
      case NodeKind::memset: compare_fill(old_node, new_node, name); break;
      case NodeKind::mem_alloc: compare_allocation(old_node, new_node, name); break;
      case NodeKind::child:
      case NodeKind::conditional: compare_bodies(old_node, new_node, name); break;
      default: break;
    }
    if (changed(old_node, new_node)) ++result_.absorbed;
  }

  [[nodiscard]] static bool changed(const Node& a, const Node& b) {
    const auto copied = [](const Node& n) {
      return n.copy ? std::tuple(n.copy->src, n.copy->dst, n.copy->bytes)
                    : std::tuple<Address, Address, std::uint64_t>();
    };
    const auto filled = [](const Node& n) {
      return n.fill ? std::tuple(n.fill->dst, n.fill->bytes, n.fill->value, n.fill->element_bytes)
                    : std::tuple<Address, std::uint64_t, std::uint32_t, std::uint32_t>();
    };
    return (a.kind == NodeKind::kernel && !same_function(a, b)) || !(a.grid == b.grid) || !(a.block == b.block) ||
           a.shared_bytes != b.shared_bytes || !same_params(a, b) || copied(a) != copied(b) || filled(a) != filled(b);
  }

  void compare_copy(const Node& a, const Node& b, const std::string& name) {
    if (!a.copy || !b.copy) return;
    const auto side = [&](MemorySpace before, MemorySpace after, const char* which) {
      const Side old_side = side_of(before), new_side = side_of(after);
      if (old_side == Side::unknown || new_side == Side::unknown || old_side == new_side) return;
      refuse(fmt::format("{}: its {} moves from {} to {} memory, and a copy's memory types cannot change", name, which,
                         to_string(before), to_string(after)));
    };
    side(a.copy->src_space, b.copy->src_space, "source");
    side(a.copy->dst_space, b.copy->dst_space, "destination");
  }

  void compare_fill(const Node& a, const Node& b, const std::string& name) {
    if (!a.fill || !b.fill) return;
    if (a.fill->bytes != b.fill->bytes || a.fill->element_bytes != b.fill->element_bytes)
      result_.may_fail.push_back(
          fmt::format("{}{}: a memset of {} bytes becomes one of {}; CUDA refuses it where it does "
                      "not fit the work that the exec has set aside, and always if it is 2D",
                      path_, name, a.fill->bytes, b.fill->bytes));
  }

  void compare_allocation(const Node& a, const Node& b, const std::string& name) {
    if (a.allocation && b.allocation && a.allocation->bytes != b.allocation->bytes)
      result_.may_fail.push_back(
          fmt::format("{}{}: an alloc node of {} bytes becomes one of {}; CUDA does not say that "
                      "an update may change it",
                      path_, name, a.allocation->bytes, b.allocation->bytes));
  }

  void compare_bodies(const Node& a, const Node& b, const std::string& name) {
    if (a.bodies.size() != b.bodies.size())
      return refuse(fmt::format("{}: {} bodies -> {}", name, a.bodies.size(), b.bodies.size()));
    if (a.bodies.empty()) result_.may_fail.push_back(fmt::format("{}{}: its body could not be seen", path_, name));
    for (std::size_t i = 0; i < a.bodies.size(); ++i)
      Update(result_, fmt::format("{}{}, body {}: ", path_, name, i)).compare(a.bodies[i], b.bodies[i]);
  }

  ExecUpdate& result_;
  std::string path_;
};

}  // namespace

ExecUpdate exec_update(const Graph& from, const Graph& to) {
  ExecUpdate result;
  Update(result, "").compare(from, to);
  return result;
}

}  // namespace refrain
