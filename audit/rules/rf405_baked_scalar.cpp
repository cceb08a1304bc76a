// RF405: a number of the host's was baked into a kernel's parameters, or into its
// grid: two captures of one bucket in one recording have it different, and nothing
// that moved accounts for it. Every replay uses the value of its own capture.
#include <fmt/format.h>

#include <bit>
#include <map>
#include <set>
#include <tuple>

#include "audit/rules/checks.hpp"
#include "audit/rules/words.hpp"
#include "audit/two_captures.hpp"

namespace refrain {
namespace {

constexpr std::string_view kRule = "RF405";

/// `19`; of bits that look like no small whole number, what they are as fp32 too.
std::string value_text(const BakedWord& word, std::uint64_t value) {
  if (word.size == 4) {
    const auto bits = static_cast<std::uint32_t>(value);
    const auto whole = static_cast<std::int32_t>(bits);
    if (whole > -(1 << 24) && whole < 1 << 24) return fmt::format("{}", whole);
    return fmt::format("{:#x} (as fp32 {})", bits, std::bit_cast<float>(bits));
  }
  if (word.size == 8 && value >= std::uint64_t{1} << 48)
    return fmt::format("{:#x} (as fp64 {})", value, std::bit_cast<double>(value));
  return fmt::format("{}", value);
}

std::string word_text(const BakedWord& word) {
  const std::string place = fmt::format("parameter {}, byte {}", word.param, word.offset);
  if (!word.buffer.empty())
    return fmt::format("{}, leads {} bytes into {} in one capture and {} in the other", place, word.first, word.buffer,
                       word.second);
  return fmt::format("{}, is {} in one capture and {} in the other", place, value_text(word, word.first),
                     value_text(word, word.second));
}

/// The same word of the same kernel with the same values, in however many layers: one cause.
using Cause = std::tuple<std::string, std::size_t, std::uint64_t, std::uint64_t, std::uint64_t>;

void report_word(const GraphView& view, const std::vector<const BakedWord*>& words, Report& report) {
  const Graph& graph = view.graph();
  const BakedWord& lead = *words.front();
  Finding finding = new_finding(kRule, view, Certainty::proven);
  finding.count = words.size();
  for (const BakedWord* word : words) finding.nodes.push_back(word->node);
  finding.where = place(view, finding.nodes);
  finding.message = fmt::format("{}: its {}: a replay for another batch uses the value of the capture",
                                describe(graph, lead.node), word_text(lead));
  finding.evidence.push_back("no allocation that moved between the two captures accounts for it");
  if (words.size() > 1)
    finding.evidence.push_back(fmt::format("{} nodes have it: {}", words.size(), list_nodes(graph, finding.nodes)));
  finding.fix = fmt::format(
      "let {} read it from device memory that the host writes before every launch, or make it a part of the bucket's "
      "key",
      describe(graph, lead.node));
  report.add(std::move(finding), std::vector<std::string>{name_of(graph.nodes[lead.node]), std::to_string(lead.param),
                                                          std::to_string(lead.offset)});
}

std::string dims_text(const Dim3& dims) {
  return fmt::format("{} x {} x {}", dims.x, dims.y, dims.z);
}

/// A grid that follows the batch: too many blocks may be harmless, too few leave rows out. So it is a warning; and
/// where a word of the node is baked too, the grid follows from that.
void report_dims(const GraphView& first, const GraphView& view, const std::set<NodeId>& baked, const char* what,
                 Dim3 Node::*dims, Report& report) {
  const Graph& graph = view.graph();
  std::map<std::tuple<std::string, std::string, std::string>, std::vector<NodeId>> causes;
  for (NodeId node = 0; node < graph.nodes.size(); ++node) {
    const Dim3 &before = first.graph().nodes[node].*dims, &now = graph.nodes[node].*dims;
    if (before != now && !baked.contains(node))
      causes[{name_of(graph.nodes[node]), dims_text(before), dims_text(now)}].push_back(node);
  }
  for (const auto& [cause, nodes] : causes) {
    const auto& [name, before, now] = cause;
    Finding finding = new_finding(kRule, view, Certainty::proven);
    finding.severity = Severity::warning;
    finding.count = nodes.size();
    finding.nodes = nodes;
    finding.where = place(view, nodes);
    finding.message = fmt::format(
        "{}: its {} is {} in one capture and {} in the other: a replay for another batch launches what its "
        "capture needed, be it too few or idle",
        describe(graph, nodes.front()), what, before, now);
    finding.evidence.push_back("both captures are of the same bucket");
    finding.fix = fmt::format(
        "launch {} with the most that the bucket can need and let each block read on the device whether it has work",
        name);
    report.add(std::move(finding), std::vector<std::string>{name, what});
  }
}

void compare(const GraphView& first, const GraphView& second, Report& report) {
  const Graph& graph = second.graph();
  const CaptureComparison comparison = compare_captures(first.graph(), graph);
  std::map<Cause, std::vector<const BakedWord*>> causes;
  std::set<NodeId> baked;
  for (const BakedWord& word : comparison.baked) {
    baked.insert(word.node);
    causes[{name_of(graph.nodes[word.node]), word.param, word.offset, word.first, word.second}].push_back(&word);
  }
  for (const auto& [cause, words] : causes) report_word(second, words, report);
  report_dims(first, second, baked, "grid", &Node::grid, report);
  report_dims(first, second, baked, "block", &Node::block, report);
  if (!comparison.doubtful.empty()) {
    const BakedWord& word = comparison.doubtful.front();
    report.not_checked(kRule,
                       fmt::format("{}, {}: parameter {}, byte {}, holds another address in each capture, and no "
                                   "buffer covers them",
                                   place(second), describe(graph, word.node), word.param, word.offset));
  }
}

bool shows_parameters(const Graph& graph) {
  return !graph.capture.cannot_see(Unseen::kernel_params);
}

}  // namespace

void check_rf405(const SubjectView& view, Report& report) {
  if (!has_graphs(view, report, kRule)) return;
  const std::vector<GraphView>& all = view.graphs();
  std::map<std::tuple<const Recording*, std::string, std::string, std::string>, std::size_t> last;
  bool paired = false;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Graph& graph = all[i].graph();
    if (all[i].parent() || graph.capture.bucket.empty() || !shows_parameters(graph)) continue;
    const auto [earlier, fresh] =
        last.try_emplace({&all[i].recording(), graph.name, graph.capture.phase, graph.capture.bucket}, i);
    if (fresh) continue;
    const std::size_t before = std::exchange(earlier->second, i);
    if (!same_nodes(all[before].graph(), graph)) {
      report.not_checked(kRule, fmt::format("{}: two captures of one bucket have different nodes", place(all[i])));
      continue;
    }
    paired = true;
    // The bodies follow their graph, in the same order in both.
    for (std::size_t body = 0; body == 0 || (i + body < all.size() && all[i + body].parent()); ++body)
      compare(all[before + body], all[i + body], report);
  }
  if (!paired)
    report.not_checked(kRule,
                       "no two captures of one bucket in a recording, with their parameters (refrain verify "
                       "--twice makes them)");
}

}  // namespace refrain
