// RF208: a free node that a user of its memory is not ordered before. Users are the
// nodes whose accesses, copies, fills or arguments touch the allocation; where
// arguments are not visible, every kernel downstream of the allocation counts as
// one, and the finding is inferred.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "audit/rules/checks.hpp"
#include "audit/rules/words.hpp"

namespace refrain {
namespace {

/// Addresses [begin, end).
struct Extent {
  Address begin = 0, end = 0;
  [[nodiscard]] bool overlaps(Address from, std::uint64_t bytes) const { return from < end && begin < from + bytes; }
};

struct Freed {
  NodeId free = 0;
  std::optional<NodeId> alloc;  ///< absent: memory from outside the graph
  Extent extent;
};

struct User {
  NodeId node = 0;
  Certainty certainty = Certainty::proven;
};

bool names(const Node& node, const Extent& extent) {
  for (const Param& param : node.params)
    for (std::size_t at = (8 - param.offset % 8) % 8; at + 8 <= param.bytes.size(); at += 8) {
      Address address = 0;
      std::memcpy(&address, param.bytes.data() + at, sizeof address);
      if (extent.overlaps(address, 1)) return true;
    }
  return false;
}

/// How sure it is that the node touches the extent; nothing when it does not.
std::optional<Certainty> touches(const Graph& graph, const Node& node, const Extent& extent) {
  if (node.kind == NodeKind::mem_alloc || node.kind == NodeKind::mem_free) return std::nullopt;
  if (node.copy &&
      (extent.overlaps(node.copy->src, node.copy->bytes) || extent.overlaps(node.copy->dst, node.copy->bytes)))
    return Certainty::proven;
  if (node.fill && extent.overlaps(node.fill->dst, node.fill->bytes)) return Certainty::proven;
  for (const NodeAccess& access : node.accesses)
    if (!access.range.empty() &&
        extent.overlaps(graph.buffers[access.buffer].base + access.range.begin, access.range.size()))
      return access.certainty;
  if (!node.has_contract && names(node, extent)) return Certainty::proven;
  return std::nullopt;
}

bool arguments_hidden(const Graph& graph, const Node& node) {
  if (node.kind != NodeKind::kernel || node.has_contract || !node.accesses.empty()) return false;
  return graph.capture.cannot_see(Unseen::kernel_params) || node.params.empty() ||
         std::any_of(node.params.begin(), node.params.end(), [](const Param& param) { return param.bytes.empty(); });
}

class Search {
 public:
  explicit Search(const GraphView& view) : graph_(view.graph()), topology_(view.topology()) {
    allocs_ = nodes_of_kind(graph_, NodeKind::mem_alloc);
  }

  /// What a free node gives back; nothing when the input does not show it.
  [[nodiscard]] std::optional<Freed> freed_by(NodeId free, std::size_t frees) const {
    const Address address = graph_.nodes[free].allocation ? graph_.nodes[free].allocation->address : 0;
    const auto alloc = alloc_of(free, address, frees);
    if (alloc) {
      const auto& made = graph_.nodes[*alloc].allocation;
      const std::uint64_t bytes = made ? made->bytes : 0;
      return Freed{free, alloc, address == 0 ? Extent{} : Extent{address, address + std::max<std::uint64_t>(bytes, 1)}};
    }
    for (const Buffer& buffer : graph_.buffers)
      if (address != 0 && buffer.base == address && buffer.bytes > 0)
        return Freed{free, std::nullopt, {address, address + buffer.bytes}};
    return std::nullopt;
  }

  [[nodiscard]] std::vector<User> unordered_users(const Freed& freed) const {
    std::vector<User> users;
    for (NodeId node = 0; node < graph_.nodes.size(); ++node) {
      if (node == freed.free || topology_.before(node, freed.free)) continue;
      if (const auto certainty = use(node, freed)) users.push_back({node, *certainty});
    }
    return users;
  }

 private:
  [[nodiscard]] std::optional<NodeId> alloc_of(NodeId free, Address address, std::size_t frees) const {
    if (allocs_.size() == 1 && frees == 1 && (address == 0 || address_of(allocs_[0]) == 0)) return allocs_[0];
    std::optional<NodeId> best;
    for (const NodeId alloc : allocs_) {
      if (address == 0 || address_of(alloc) != address || topology_.before(free, alloc)) continue;
      // The last one before the free, else one that is parallel to it.
      if (!best ||
          (topology_.before(alloc, free) && (topology_.before(*best, alloc) || !topology_.before(*best, free))))
        best = alloc;
    }
    return best;
  }

  [[nodiscard]] Address address_of(NodeId node) const {
    return graph_.nodes[node].allocation ? graph_.nodes[node].allocation->address : 0;
  }

  [[nodiscard]] std::optional<Certainty> use(NodeId node, const Freed& freed) const {
    if (freed.alloc && topology_.before(node, *freed.alloc)) return std::nullopt;  // of an earlier allocation there
    if (freed.extent.end > 0)
      if (const auto sure = touches(graph_, graph_.nodes[node], freed.extent); sure && !is_of_another(node, freed))
        return sure;
    const bool may = freed.alloc && arguments_hidden(graph_, graph_.nodes[node]) &&
                     topology_.before(*freed.alloc, node) && !topology_.before(freed.free, node);
    return may ? std::optional(Certainty::inferred) : std::nullopt;
  }

  /// A later allocation lies at the same place, and the node comes after it.
  [[nodiscard]] bool is_of_another(NodeId node, const Freed& freed) const {
    return std::any_of(allocs_.begin(), allocs_.end(), [&](NodeId other) {
      const auto& made = graph_.nodes[other].allocation;
      return other != freed.alloc && made &&
             freed.extent.overlaps(made->address, std::max<std::uint64_t>(made->bytes, 1)) &&
             topology_.before(other, node) && topology_.before(freed.free, other);
    });
  }

  const Graph& graph_;
  const Topology& topology_;
  std::vector<NodeId> allocs_;
};

void report_free(const GraphView& view, const Freed& freed, const std::vector<User>& users, Report& report) {
  const Graph& graph = view.graph();
  std::vector<NodeId> nodes;
  Certainty certainty = users.front().certainty;
  for (const User& user : users) {
    nodes.push_back(user.node);
    certainty = std::min(certainty, user.certainty);
  }
  const bool inferred = certainty == Certainty::inferred;
  Finding finding = new_finding("RF208", view, certainty);
  finding.count = users.size();
  finding.nodes = {freed.free};
  finding.nodes.insert(finding.nodes.end(), nodes.begin(), nodes.end());
  finding.where = place(view, finding.nodes);
  const std::string memory = freed.alloc ? describe(graph, *freed.alloc) : "an allocation outside the graph";
  const bool late =
      std::all_of(nodes.begin(), nodes.end(), [&](NodeId node) { return view.topology().before(freed.free, node); });
  const char* uses = inferred ? "may use" : nodes.size() == 1 ? "uses" : "use";
  finding.message =
      late ? fmt::format("{} {} the memory of {} after {} gave it back: it may belong to another allocation by then",
                         list_nodes(graph, nodes), uses, memory, describe(graph, freed.free))
           : fmt::format(
                 "{} gives back the memory of {}, and is not ordered after {}, which {} it: a replay can free it, "
                 "and hand it to another allocation, while it is in use",
                 describe(graph, freed.free), memory, list_nodes(graph, nodes), uses);
  if (inferred)
    finding.evidence.push_back(
        "the input shows no kernel arguments: every kernel downstream of the allocation may use it");
  finding.fix = fmt::format(
      "free after the last user: call cudaFreeAsync on the stream of {}, or let the freeing stream wait "
      "for an event that is recorded behind it",
      describe(graph, nodes.back()));
  std::vector<std::string> words = {name_of(graph.nodes[freed.free])};
  for (const NodeId node : nodes) words.push_back(name_of(graph.nodes[node]));
  report.add(std::move(finding), words);
}

}  // namespace

void check_rf208(const SubjectView& view, Report& report) {
  if (!has_graphs(view, report, "RF208")) return;
  for (const GraphView& graph_view : view.graphs()) {
    const auto frees = nodes_of_kind(graph_view.graph(), NodeKind::mem_free);
    if (frees.empty()) continue;
    const Search search(graph_view);
    std::size_t unseen = 0;
    for (const NodeId free : frees) {
      const auto freed = search.freed_by(free, frees.size());
      if (!freed) {
        ++unseen;
        continue;
      }
      if (const auto users = search.unordered_users(*freed); !users.empty())
        report_free(graph_view, *freed, users, report);
    }
    if (unseen > 0)
      report.not_checked("RF208", fmt::format("{}: the input does not show what memory {} free node{} back",
                                              place(graph_view), unseen, unseen == 1 ? " gives" : "s give"));
  }
}

}  // namespace refrain
