#include "audit/rules/pointers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>

#include "audit/rules/words.hpp"

namespace refrain {
namespace {

bool holds(const Buffer& buffer, Address address) {
  return buffer.base != 0 && buffer.base <= address && address - buffer.base < buffer.bytes;
}

/// One pointer that leads into a dead buffer.
struct Lead {
  NodeId node = 0;
  BufferId dead = 0;
  std::optional<BufferId> tenant;  ///< the live buffer that is there now
  std::uint64_t offset = 0;        ///< into the dead buffer
  std::string how;                 ///< `its access`, `the copy's source`
  Certainty certainty = Certainty::proven;
};

/// Finds, for one graph, what lives and what died at an address.
class Memory {
 public:
  explicit Memory(const Graph& graph) : graph_(graph), named_(graph.buffers.size(), false) {
    for (BufferId id = 0; id < graph.buffers.size(); ++id) (graph.buffers[id].died ? dead_ : live_).push_back(id);
    for (const Node& node : graph.nodes) {
      for (const NodeAccess& access : node.accesses) named_[access.buffer] = true;
      if (node.kind == NodeKind::mem_alloc && node.allocation) own_.push_back(*node.allocation);
    }
  }

  [[nodiscard]] bool nothing_died() const noexcept { return dead_.empty(); }

  /// An access names its buffer, so no doubt is left about which one was meant.
  [[nodiscard]] std::optional<Lead> of_access(const NodeAccess& access) const {
    if (!graph_.buffers[access.buffer].died) return std::nullopt;
    const Address address = graph_.buffers[access.buffer].base + access.range.begin;
    return lead(access.buffer, live_at(address), access.range.begin);
  }

  /// A bare address may have been captured after its new tenant moved in: it did if a contract names the tenant.
  [[nodiscard]] std::optional<Lead> of_address(Address address) const {
    const auto dead = last_dead_at(address);
    if (!dead || is_own(address)) return std::nullopt;
    const auto tenant = live_at(address);
    if (tenant && named_[*tenant]) return std::nullopt;
    return lead(*dead, tenant, address - graph_.buffers[*dead].base);
  }

 private:
  [[nodiscard]] std::optional<Lead> lead(BufferId dead, std::optional<BufferId> tenant, std::uint64_t offset) const {
    if (tenant) {
      const Buffer &old = graph_.buffers[dead], &now = graph_.buffers[*tenant];
      const bool same = old.allocation != 0 && old.allocation == now.allocation;
      if (same || !now.born || *now.born < *old.died) return std::nullopt;
    }
    Lead result;
    result.dead = dead;
    result.tenant = tenant;
    result.offset = offset;
    return result;
  }

  [[nodiscard]] std::optional<BufferId> live_at(Address address) const {
    for (const BufferId id : live_)
      if (holds(graph_.buffers[id], address)) return id;
    return std::nullopt;
  }

  [[nodiscard]] std::optional<BufferId> last_dead_at(Address address) const {
    std::optional<BufferId> last;
    for (const BufferId id : dead_)
      if (holds(graph_.buffers[id], address) && (!last || *graph_.buffers[*last].died < *graph_.buffers[id].died))
        last = id;
    return last;
  }

  // Memory that the graph allocates itself is alive while it runs.
  [[nodiscard]] bool is_own(Address address) const {
    return std::any_of(own_.begin(), own_.end(), [&](const AllocationInfo& own) {
      return own.address != 0 && own.address <= address && address - own.address < own.bytes;
    });
  }

  const Graph& graph_;
  std::vector<BufferId> live_, dead_;
  std::vector<bool> named_;
  std::vector<AllocationInfo> own_;
};

/// Collects the leads of one graph, one for a node and a dead buffer.
class Collector {
 public:
  explicit Collector(const Graph& graph) : graph_(graph), memory_(graph) {}

  std::map<BufferId, std::vector<Lead>> run() {
    if (memory_.nothing_died()) return {};
    for (NodeId id = 0; id < graph_.nodes.size(); ++id) look_at(id);
    return std::move(leads_);
  }

 private:
  void look_at(NodeId id) {
    const Node& node = graph_.nodes[id];
    for (const NodeAccess& access : node.accesses) keep(id, memory_.of_access(access), "its access", access.certainty);
    if (node.copy) keep(id, memory_.of_address(node.copy->src), "its copy's source", Certainty::proven);
    if (node.copy) keep(id, memory_.of_address(node.copy->dst), "its copy's destination", Certainty::proven);
    if (node.fill) keep(id, memory_.of_address(node.fill->dst), "its fill", Certainty::proven);
    for (std::size_t i = 0; i < node.params.size(); ++i) look_at_words(id, i);
  }

  // A pointer inside a struct that is passed by value stands at a multiple of 8 of the parameter block.
  void look_at_words(NodeId id, std::size_t index) {
    const Param& param = graph_.nodes[id].params[index];
    for (std::size_t at = (8 - param.offset % 8) % 8; at + 8 <= param.bytes.size(); at += 8) {
      Address address = 0;
      std::memcpy(&address, param.bytes.data() + at, sizeof address);
      keep(id, memory_.of_address(address), fmt::format("its parameter {}, byte {},", index, at), Certainty::proven);
    }
  }

  void keep(NodeId node, std::optional<Lead> lead, std::string how, Certainty certainty) {
    if (!lead) return;
    auto& of_buffer = leads_[lead->dead];
    if (!of_buffer.empty() && of_buffer.back().node == node) return;
    lead->node = node;
    lead->how = std::move(how);
    lead->certainty = certainty;
    of_buffer.push_back(std::move(*lead));
  }

  const Graph& graph_;
  Memory memory_;
  std::map<BufferId, std::vector<Lead>> leads_;
};

void report_buffer(const GraphView& view, Report& report, std::string_view rule, const std::vector<Lead>& leads) {
  const Graph& graph = view.graph();
  const Lead& first = leads.front();
  const std::string dead = name_of(graph, first.dead);
  Finding finding = new_finding(rule, view, first.certainty);
  finding.count = leads.size();
  std::vector<std::string> names = {dead};
  for (const Lead& lead : leads) {
    finding.nodes.push_back(lead.node);
    names.push_back(name_of(graph.nodes[lead.node]));
  }
  finding.where = place(view, finding.nodes, {dead});
  finding.message = fmt::format("{}: {} leads {} bytes into {}, which was freed", describe(graph, first.node),
                                first.how, first.offset, dead);
  if (first.tenant) {
    const std::string tenant = name_of(graph, *first.tenant);
    finding.message += fmt::format("; {} lives at that address now, and a replay reads or overwrites it", tenant);
    names.push_back(tenant);
  } else {
    finding.message += ": a replay faults, or touches whatever comes to lie there";
  }
  finding.evidence.push_back(fmt::format("{} died at event {}", dead, *graph.buffers[first.dead].died));
  if (first.tenant)
    finding.evidence.push_back(
        fmt::format("{} was born at event {}", name_of(graph, *first.tenant), *graph.buffers[*first.tenant].born));
  if (leads.size() > 1)
    finding.evidence.push_back(fmt::format("{} nodes are hit: {}", leads.size(), list_nodes(graph, finding.nodes)));
  finding.fix =
      fmt::format("keep {} for as long as a graph exec names it, or capture the graph again after it moved", dead);
  report.add(std::move(finding), names);
}

bool has_history(const Graph& graph) {
  return std::any_of(graph.buffers.begin(), graph.buffers.end(),
                     [](const Buffer& buffer) { return buffer.born || buffer.died; });
}

}  // namespace

void report_pointers(const SubjectView& view, Report& report, std::string_view rule, PointerFault fault) {
  if (!has_graphs(view, report, rule)) return;
  for (const GraphView& graph_view : view.graphs()) {
    const Graph& graph = graph_view.graph();
    if (graph.nodes.empty()) continue;
    if (!has_history(graph)) report.not_checked(rule, "no allocation history in the input");
    if (graph.capture.cannot_see(Unseen::kernel_params))
      report.not_checked(rule, "no kernel arguments in the input (a DOT dump holds none)");
    for (const auto& [dead, all] : Collector(graph).run()) {
      std::vector<Lead> mine;
      for (const Lead& lead : all)
        if (lead.tenant.has_value() == (fault == PointerFault::reused)) mine.push_back(lead);
      if (!mine.empty()) report_buffer(graph_view, report, rule, mine);
    }
  }
}

}  // namespace refrain
