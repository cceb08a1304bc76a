// RF308: an output some bytes of which no node of the graph writes for sure. What a
// replay leaves there is what an earlier one did, or nobody: the rows past the real
// ones, or those that a kernel skips.
#include <fmt/format.h>

#include <map>

#include "audit/range_set.hpp"
#include "audit/rules/checks.hpp"
#include "audit/rules/padding.hpp"
#include "audit/rules/words.hpp"

namespace refrain {
namespace {

std::uint64_t bytes_in(const std::vector<ByteRange>& ranges) {
  std::uint64_t bytes = 0;
  for (const ByteRange& range : ranges) bytes += range.size();
  return bytes;
}

/// Outputs that the same nodes leave unwritten.
using SameWriters = std::vector<const UnwrittenRows*>;

std::vector<SameWriters> by_writers(const std::vector<UnwrittenRows>& all) {
  std::vector<SameWriters> groups;
  std::map<std::vector<NodeId>, std::size_t> group_of;
  for (const UnwrittenRows& rows : all) {
    const auto [at, is_new] = group_of.emplace(rows.writers, groups.size());
    if (is_new) groups.emplace_back();
    groups[at->second].push_back(&rows);
  }
  return groups;
}

void report_rows(const GraphView& view, const SameWriters& group, Report& report) {
  const Graph& graph = view.graph();
  const UnwrittenRows& rows = *group.front();
  std::vector<std::string> names;
  for (const UnwrittenRows* output : group) names.push_back(name_of(graph, output->buffer));
  const std::string& name = names.front();
  Finding finding = new_finding("RF308", view, Certainty::contract);
  finding.count = group.size();
  finding.nodes = rows.writers;
  finding.where = place(view, rows.writers, names);
  finding.message = fmt::format(
      "no node writes {} of {} for sure: {} of its {} bytes keep what an earlier replay left there, or what the memory "
      "held "
      "before",
      bytes_of(hull(rows.missing)), name, bytes_in(rows.missing), graph.buffers[rows.buffer].bytes);
  finding.evidence.push_back(
      fmt::format("written by {}, on other bytes or through an index only", list_nodes(graph, rows.writers)));
  if (group.size() > 1)
    finding.evidence.push_back(fmt::format("{} outputs are hit: {}", group.size(), list_names(names)));
  if (!rows.readers.empty())
    finding.evidence.push_back(
        fmt::format("read in the same replay by {}: a NaN there spreads from a row that nobody asked "
                    "for",
                    list_nodes(graph, rows.readers)));
  finding.fix = fmt::format(
      "let {} write every row of the bucket on every replay, zeros for those past the real ones, or "
      "clear {} with a node before it",
      describe(graph, rows.writers.front()), name);
  for (const NodeId node : rows.writers) names.push_back(name_of(graph.nodes[node]));
  report.add(std::move(finding), names);
}

}  // namespace

void check_rf308(const SubjectView& view, Report& report) {
  if (!has_graphs(view, report, "RF308")) return;
  tell_unknown_nodes(view, report, "RF308");
  for (const GraphView& graph : view.graphs()) {
    const auto all = unwritten_rows(graph);
    for (const SameWriters& group : by_writers(all)) report_rows(graph, group, report);
  }
}

}  // namespace refrain
