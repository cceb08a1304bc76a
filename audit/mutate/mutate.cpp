#include "audit/mutate/mutate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <numeric>
#include <set>
#include <utility>

#include "audit/audit.hpp"
#include "audit/mutate/harms.hpp"
#include "audit/mutate/operators.hpp"
#include "graphs/error.hpp"

namespace refrain::mutate {
namespace {

std::vector<Finding> findings_in(const Graph& graph) {
  return audit(Subject{{{"mutant", {graph}, {}, false}}}).findings();
}

void require_clean(const Graph& graph, const std::string& input) {
  const std::string tried = fmt::format("mutants of graph {}", graph.name);
  const auto unknown = std::find_if(graph.nodes.begin(), graph.nodes.end(), is_unknown);
  if (unknown != graph.nodes.end())
    throw Error(ErrorKind::input, tried,
                fmt::format("expected a contract for every node, and {} has none: what breaks it cannot be told",
                            describe(graph, static_cast<NodeId>(unknown - graph.nodes.begin()))),
                input);
  if (const auto found = findings_in(graph); !found.empty())
    throw Error(ErrorKind::input, tried,
                fmt::format("expected a clean graph, found {} ({}): mend it first", found[0].rule, found[0].where),
                input);
  if (const auto harms = harms_of(graph); !harms.empty())
    throw Error(ErrorKind::input, tried, fmt::format("expected a clean graph, and {}", harms[0].why), input);
}

Verdict verdict_of(const std::vector<Harm>& harms, const std::vector<Finding>& found, std::size_t faults) {
  if (harms.empty()) return found.empty() ? Verdict::equivalent : Verdict::false_alarm;
  if (found.empty()) return Verdict::survived;
  std::set<std::string> may;
  for (const Harm& harm : harms) may.insert(harm.rules.begin(), harm.rules.end());
  if (!std::all_of(found.begin(), found.end(), [&](const Finding& f) { return may.contains(f.rule); }))
    return Verdict::wrong_rule;
  return found.size() <= faults ? Verdict::killed : Verdict::multiplied;
}

void try_site(const Graph& clean, const Site& site, std::size_t faults, OperatorTally& of_operator, Tally& tally) {
  Graph mutant = clean;
  site.apply(mutant);
  const auto harms = harms_of(mutant);
  const auto found = findings_in(mutant);
  const Verdict verdict = verdict_of(harms, found, faults);
  ++of_operator.counts[static_cast<std::size_t>(verdict)];
  if (verdict == Verdict::killed)
    for (const Finding& finding : found) ++tally.kills[finding.rule];
  if (verdict == Verdict::equivalent) tally.equivalents.push_back(site.what);
  if (verdict == Verdict::killed || verdict == Verdict::equivalent) return;
  Escape escape{verdict, site.what, harms.empty() ? "" : harms[0].why, {}};
  for (const Finding& finding : found) escape.found.push_back(fmt::format("{}: {}", finding.rule, finding.message));
  tally.escapes.push_back(std::move(escape));
}

}  // namespace

std::size_t Tally::count(Verdict verdict) const {
  std::size_t count = 0;
  for (const OperatorTally& of : operators) count += of.counts[static_cast<std::size_t>(verdict)];
  return count;
}

std::size_t Tally::mutants() const {
  std::size_t count = 0;
  for (const OperatorTally& of : operators)
    count += std::accumulate(of.counts.begin(), of.counts.end(), std::size_t{0});
  return count;
}

void Tally::merge(Tally other) {
  if (operators.empty()) operators.resize(other.operators.size());
  for (std::size_t i = 0; i < operators.size(); ++i) {
    operators[i].name = other.operators[i].name;
    for (std::size_t v = 0; v < kVerdicts; ++v) operators[i].counts[v] += other.operators[i].counts[v];
  }
  for (const auto& [rule, count] : other.kills) kills[rule] += count;
  std::move(other.escapes.begin(), other.escapes.end(), std::back_inserter(escapes));
  std::move(other.equivalents.begin(), other.equivalents.end(), std::back_inserter(equivalents));
}

Tally mutate(const Graph& clean, std::uint64_t seed, const std::string& input) {
  require_clean(clean, input);
  Random random(seed);
  Tally tally;
  for (const Operator& op : operators()) {
    Sites sites = op.sites(clean, random);
    if (sites.size() > kMutantsPerOperator) {
      std::shuffle(sites.begin(), sites.end(), random);
      sites.resize(kMutantsPerOperator);
    }
    OperatorTally of_operator{op.name, {}};
    for (const Site& site : sites) try_site(clean, site, op.faults, of_operator, tally);
    tally.operators.push_back(std::move(of_operator));
  }
  return tally;
}

const char* to_string(Verdict verdict) noexcept {
  switch (verdict) {
    case Verdict::killed: return "killed";
    case Verdict::equivalent: return "equivalent";
    case Verdict::survived: return "survived";
    case Verdict::wrong_rule: return "wrong rule";
    case Verdict::multiplied: return "several findings";
    case Verdict::false_alarm: return "false alarm";
  }
  return "unknown";
}

}  // namespace refrain::mutate
