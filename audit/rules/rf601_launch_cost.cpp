// RF601: nodes that the host pays for at every launch. A chain of kernels is
// launched in near-constant time; a small fill costs the host about 0.8 to 1.2
// us, a copy from or to pinned memory 1.2 to 1.7 us (measured on an H200, driver
// 580, CUDA 13.0). Copies of pageable memory are rules 103, 205 and 403's. A
// conditional's body is launched by the device and not counted.
#include <fmt/format.h>

#include "audit/rules/checks.hpp"
#include "audit/rules/words.hpp"

namespace refrain {
namespace {

// A graph of 20 kernels is launched in 1.5 us: eight such nodes cost the host several launches. One or two of them
// are how inputs come in and counters are zeroed.
constexpr std::size_t kMany = 8;
// Fills of 4 bytes cost, those of 64 KiB do not; in between nothing was measured but the size of a page.
constexpr std::uint64_t kSmallFillBytes = 4096;
constexpr double kFillUs = 0.8, kCopyUs = 1.2;

struct Costly {
  std::vector<NodeId> fills, copies;  // of the root graph
  std::size_t nested = 0;             // in child graphs
  double us = 0;

  [[nodiscard]] std::size_t count() const { return fills.size() + copies.size() + nested; }
};

bool is_small_fill(const Node& node) {
  return node.kind == NodeKind::memset && node.fill && node.fill->bytes > 0 && node.fill->bytes <= kSmallFillBytes;
}

bool is_pinned_copy(const Node& node) {
  const auto host = [](MemorySpace space) { return space == MemorySpace::pinned || space == MemorySpace::pageable; };
  if (node.kind != NodeKind::memcpy || !node.copy || host(node.copy->src_space) == host(node.copy->dst_space))
    return false;
  return node.copy->src_space == MemorySpace::pinned || node.copy->dst_space == MemorySpace::pinned;
}

void collect(const Graph& graph, bool root, Costly& costly) {
  for (NodeId id = 0; id < graph.nodes.size(); ++id) {
    const Node& node = graph.nodes[id];
    const bool fill = is_small_fill(node), copy = is_pinned_copy(node);
    if (fill || copy) costly.us += fill ? kFillUs : kCopyUs;
    if (!root && (fill || copy)) ++costly.nested;
    if (root && fill) costly.fills.push_back(id);
    if (root && copy) costly.copies.push_back(id);
    if (node.kind == NodeKind::child)
      for (const Graph& body : node.bodies) collect(body, false, costly);
  }
}

void report_costly(const GraphView& view, const Costly& costly, Report& report) {
  Finding finding = new_finding("RF601", view, Certainty::inferred);
  finding.count = costly.count();
  finding.nodes = costly.fills;
  finding.nodes.insert(finding.nodes.end(), costly.copies.begin(), costly.copies.end());
  finding.where = place(view, finding.nodes);
  finding.message = fmt::format(
      "{} nodes are small fills or host copies: the host spends about {:.0f} us on them at every launch, where a chain "
      "of as many kernels costs it 2",
      costly.count(), costly.us);
  finding.evidence.push_back(
      fmt::format("{} fills of at most {} bytes and {} copies of pinned memory{}", costly.fills.size(), kSmallFillBytes,
                  costly.copies.size(),
                  costly.nested == 0 ? "" : fmt::format(", and {} of either in child graphs", costly.nested)));
  finding.fix = "zero small ranges inside a kernel that runs anyway, and bring all host inputs in with one copy";
  report.add(std::move(finding), std::vector<std::string>{"memset", "memcpy"});
}

}  // namespace

void check_rf601(const SubjectView& view, Report& report) {
  if (!has_graphs(view, report, "RF601")) return;
  for (const GraphView& graph : view.graphs()) {
    if (graph.parent()) continue;
    Costly costly;
    collect(graph.graph(), true, costly);
    if (costly.count() >= kMany) report_costly(graph, costly, report);
  }
}

}  // namespace refrain
