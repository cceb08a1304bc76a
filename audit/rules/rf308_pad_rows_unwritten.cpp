// RF308: an output some bytes of which no node of the graph writes for sure. What a
// replay leaves there is what an earlier one did, or nobody: the rows past the real
// ones, or those that a kernel skips.
#include <fmt/format.h>

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

void report_rows(const GraphView& view, const UnwrittenRows& rows, Report& report) {
  const Graph& graph = view.graph();
  const std::string name = name_of(graph, rows.buffer);
  Finding finding = new_finding("RF308", view, Certainty::contract);
  finding.nodes = rows.writers;
  finding.where = place(view, rows.writers, {name});
  finding.message = fmt::format(
      "no node writes {} of {} for sure: {} of its {} bytes keep what an earlier replay left there, or what the memory "
      "held "
      "before",
      bytes_of(hull(rows.missing)), name, bytes_in(rows.missing), graph.buffers[rows.buffer].bytes);
  finding.evidence.push_back(
      fmt::format("written by {}, on other bytes or through an index only", list_nodes(graph, rows.writers)));
  if (!rows.readers.empty())
    finding.evidence.push_back(
        fmt::format("read in the same replay by {}: a NaN there spreads from a row that nobody asked "
                    "for",
                    list_nodes(graph, rows.readers)));
  finding.fix = fmt::format(
      "let {} write every row of the bucket on every replay, zeros for those past the real ones, or "
      "clear {} with a node before it",
      describe(graph, rows.writers.front()), name);
  std::vector<std::string> names = {name};
  for (const NodeId node : rows.writers) names.push_back(name_of(graph.nodes[node]));
  report.add(std::move(finding), names);
}

}  // namespace

void check_rf308(const SubjectView& view, Report& report) {
  if (!has_graphs(view, report, "RF308")) return;
  tell_unknown_nodes(view, report, "RF308");
  for (const GraphView& graph : view.graphs())
    for (const UnwrittenRows& rows : unwritten_rows(graph)) report_rows(graph, rows, report);
}

}  // namespace refrain
