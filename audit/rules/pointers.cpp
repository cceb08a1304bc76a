#include "audit/rules/pointers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "audit/rules/buffer_history.hpp"
#include "audit/rules/host_built.hpp"
#include "audit/rules/param_words.hpp"
#include "audit/rules/words.hpp"

namespace refrain {
namespace {

bool is_host(MemorySpace space) noexcept {
  return space == MemorySpace::pinned || space == MemorySpace::pageable;
}

/// One pointer of one node, and where it leads.
struct Lead {
  NodeId node = 0;
  DeadEnd end;
  std::string how;    ///< `its access`, `its copy's source`
  bool host = false;  ///< of a copy or a callback, into host memory
  Certainty certainty = Certainty::proven;
};

using Leads = std::map<HistoryId, std::vector<Lead>>;  // by dead buffer

/// Collects the leads of one graph, one for a node and a dead buffer.
class Collector {
 public:
  Collector(const Graph& graph, const BufferHistory& history) : graph_(graph), history_(history) {}

  Leads run() {
    if (history_.nothing_died()) return {};
    for (NodeId id = 0; id < graph_.nodes.size(); ++id) look_at(id);
    return std::move(leads_);
  }

 private:
  void look_at(NodeId id) {
    const Node& node = graph_.nodes[id];
    if (node.copy) {
      const CopyInfo& copy = *node.copy;
      keep(id, history_.of_address(copy.src), "its copy's source", Certainty::proven, copy.src_space);
      keep(id, history_.of_address(copy.dst), "its copy's destination", Certainty::proven, copy.dst_space);
    }
    if (node.fill) keep(id, history_.of_address(node.fill->dst), "its fill", Certainty::proven);
    for (const NodeAccess& access : node.accesses) keep(id, history_.of_access(access), "its access", access.certainty);
    look_at_words(id);
  }

  void look_at_words(NodeId id) {
    each_param_word(graph_.nodes[id], [&](std::size_t index, std::size_t at, Address address) {
      keep(id, history_.of_address(address), fmt::format("its parameter {}, byte {},", index, at), Certainty::proven);
    });
  }

  void keep(NodeId node, std::optional<DeadEnd> end, std::string how, Certainty certainty,
            MemorySpace space = MemorySpace::unknown) {
    if (!end) return;
    auto& of_buffer = leads_[end->dead];
    if (!of_buffer.empty() && of_buffer.back().node == node) return;
    const NodeKind kind = graph_.nodes[node].kind;
    const bool host =
        (kind == NodeKind::memcpy || kind == NodeKind::host) && (is_host(space) || is_host(history_[end->dead].space));
    of_buffer.push_back({node, *end, std::move(how), host, certainty});
  }

  const Graph& graph_;
  const BufferHistory& history_;
  Leads leads_;
};

/// What one finding is about: the leads of one graph into one dead buffer.
struct Case {
  const GraphView& view;
  const BufferHistory& history;
  const std::vector<Lead>& leads;

  [[nodiscard]] const Lead& first() const { return leads.front(); }
  [[nodiscard]] const Buffer& dead() const { return history[first().end.dead]; }
  [[nodiscard]] std::string name() const { return history.name(first().end.dead); }
  [[nodiscard]] std::optional<std::string> tenant() const {
    if (!first().end.tenant) return std::nullopt;
    return history.name(*first().end.tenant);
  }
};

/// `; launched 3 times since`, where a timeline tells.
std::string since(const std::optional<RunAfter>& after) {
  if (!after) return "";
  if (after->launches == 0) return "; not launched since";
  return fmt::format("; launched {} time{} since", after->launches, after->launches == 1 ? "" : "s");
}

std::string message_of(const Case& c) {
  const Lead& first = c.first();
  const std::string node = describe(c.view.graph(), first.node);
  std::string text;
  if (const Buffer* grown = grown_into(c.view, c.dead()))
    text = fmt::format(
        "{} grew from {} to {} bytes under the graph: {}: {} still leads {} bytes into the old one, "
        "which was freed",
        c.name(), c.dead().bytes, grown->bytes, node, first.how, first.end.offset);
  else
    text = fmt::format("{}: {} leads {} bytes into {}, {} was freed", node, first.how, first.end.offset, c.name(),
                       first.host ? "host memory that" : "which");
  if (const auto tenant = c.tenant(); tenant && c.history[*first.end.tenant].died)
    text +=
        fmt::format("; {} lived at that address when it was launched, and the replay read or overwrote it", *tenant);
  else if (tenant)
    text += fmt::format("; {} lives at that address now, and a replay reads or overwrites it", *tenant);
  else if (first.host)
    text += ": a replay touches whatever lies there by then";
  else
    text += ": a replay faults, or touches whatever comes to lie there";
  return text + since(c.history.replays_after(first.end.dead));
}

std::vector<std::string> evidence_of(const Case& c, const std::vector<NodeId>& nodes) {
  const Lead& first = c.first();
  std::vector<std::string> facts = {fmt::format("{} died at event {}", c.name(), *c.dead().died)};
  if (const auto tenant = c.tenant())
    facts.push_back(fmt::format("{} was born at event {}", *tenant, *c.history[*first.end.tenant].born));
  if (const auto after = c.history.replays_after(first.end.dead); after && after->first != nullptr)
    facts.push_back(fmt::format("the first launch since is event {}", after->first->sequence));
  if (first.host && c.dead().space == MemorySpace::pageable)
    facts.push_back("it is pageable, so each launch also stages the bytes on the host and waits for that");
  if (c.leads.size() > 1)
    facts.push_back(fmt::format("{} nodes are hit: {}", c.leads.size(), list_nodes(c.view.graph(), nodes)));
  return facts;
}

std::string fix_of(const Case& c) {
  if (grown_into(c.view, c.dead()) != nullptr)
    return fmt::format(
        "size {} for the largest shape before the first capture, or destroy the graph execs that name "
        "it and capture their graphs again when it grows",
        c.name());
  if (c.first().host)
    return fmt::format(
        "keep {} for as long as a graph exec names it: pinned memory (cudaMallocHost) that the owner of "
        "the graph holds, not a local variable or a temporary list",
        c.name());
  return fmt::format("keep {} for as long as a graph exec names it, or capture the graph again after it moved",
                     c.name());
}

void report_case(const Case& c, Report& report, std::string_view rule) {
  Finding finding = new_finding(rule, c.view, c.first().certainty);
  finding.count = c.leads.size();
  std::vector<std::string> names = {c.name()};
  for (const Lead& lead : c.leads) {
    finding.nodes.push_back(lead.node);
    names.push_back(name_of(c.view.graph().nodes[lead.node]));
  }
  if (const auto tenant = c.tenant()) names.push_back(*tenant);
  finding.where = place(c.view, finding.nodes, {c.name()});
  finding.message = message_of(c);
  finding.evidence = evidence_of(c, finding.nodes);
  finding.fix = fix_of(c);
  report.add(std::move(finding), names);
}

/// Which rule a lead belongs to; nothing for a plan filled from the host, which is rule 205's.
std::optional<PointerFault> fault_of(const Graph& graph, const Lead& lead, bool grown) {
  if (lead.host) {
    if (filled_from_host(graph, lead.node)) return std::nullopt;
    return PointerFault::host;
  }
  if (grown) return PointerFault::grown;
  return lead.end.tenant ? PointerFault::reused : PointerFault::stale;
}

void tell_what_is_hidden(const GraphView& view, const GraphLife* life, const BufferHistory& history, Report& report,
                         std::string_view rule, PointerFault fault) {
  const CaptureInfo& capture = view.graph().capture;
  if (!history.is_known()) report.not_checked(rule, "no allocation history in the input");
  if (fault != PointerFault::host && capture.cannot_see(Unseen::kernel_params))
    report.not_checked(rule, "no kernel arguments in the input (a DOT dump holds none)");
  for (const EvidenceLimit& limit : view.recording().timeline.limits)
    if (limit.name == kCachingAllocator && fault != PointerFault::host) report.not_checked(rule, limit.sentence);
  if (life != nullptr && life->updated)
    report.not_checked(rule, "a graph exec was updated: the recording does not say from which graph");
}

}  // namespace

const Buffer* grown_into(const GraphView& view, const Buffer& dead) {
  if (dead.role != Role::workspace && dead.role != Role::scratch && dead.role != Role::plan) return nullptr;
  if (!dead.died || dead.name.empty()) return nullptr;
  const auto replaces = [&](const Buffer& other) {
    return other.name == dead.name && other.bytes > dead.bytes && other.born &&
           (!dead.born || *dead.born < *other.born) && (!other.died || *dead.died < *other.died);
  };
  for (const Buffer& buffer : view.graph().buffers)
    if (replaces(buffer)) return &buffer;
  for (const BufferEvent& event : view.recording().timeline.buffers)
    if (replaces(event.buffer)) return &event.buffer;
  return nullptr;
}

std::vector<NodeId> dead_host_copies(const GraphView& view, const GraphLife* life) {
  const BufferHistory history(view, life);
  std::vector<NodeId> nodes;
  for (const auto& [dead, leads] : Collector(view.graph(), history).run())
    for (const Lead& lead : leads)
      if (fault_of(view.graph(), lead, false) == PointerFault::host) nodes.push_back(lead.node);
  return nodes;
}

void report_pointers(const SubjectView& view, Report& report, std::string_view rule, PointerFault fault) {
  if (!has_graphs(view, report, rule)) return;
  const GraphLives lives(view);
  for (std::size_t i = 0; i < view.graphs().size(); ++i) {
    const GraphView& graph = view.graphs()[i];
    if (graph.graph().nodes.empty()) continue;
    const BufferHistory history(graph, lives.of(i));
    tell_what_is_hidden(graph, lives.of(i), history, report, rule, fault);
    for (const auto& [dead, all] : Collector(graph.graph(), history).run()) {
      const bool grown = was_grown(graph, history[dead]);
      std::vector<Lead> mine;
      for (const Lead& lead : all)
        if (fault_of(graph.graph(), lead, grown) == fault) mine.push_back(lead);
      if (!mine.empty()) report_case({graph, history, mine}, report, rule);
    }
  }
}

}  // namespace refrain
