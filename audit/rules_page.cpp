// The catalogue as a page: audit/RULES.md is this text, and a test keeps it so.
#include <fmt/format.h>

#include <iterator>

#include "audit/catalogue.hpp"
#include "audit/hazards.hpp"

namespace refrain {
namespace {

using Out = std::back_insert_iterator<fmt::memory_buffer>;

/// By the hundreds of their numbers.
constexpr const char* kGroups[] = {"",
                                   "Host sync",
                                   "Workspaces",
                                   "Zeroing, padding, order",
                                   "Pointers and baked values",
                                   "Escaped work",
                                   "Graph health and cost",
                                   "Serving timeline",
                                   "Evidence",
                                   "Replay checks"};

void write_rule(Out out, const Rule& rule) {
  fmt::format_to(out, "\n### {} {}\n\n**{}** ({})\n\n{}\n\n- Needs: {}.\n- Mend: {}\n", rule.id, rule.name,
                 rule.summary, to_string(rule.severity), rule.explanation, rule.evidence, rule.fix);
}

void write_hazards(Out out) {
  fmt::format_to(
      out,
      "\n## Hazards\n\nWhat is known to go wrong with captured graphs, and which rule sees it.\n\n| # | hazard | "
      "seen by | limits |\n|---|---|---|---|\n");
  for (const Hazard& hazard : hazards())
    fmt::format_to(out, "| {} | {} | {} | {} |\n", hazard.number, hazard.name,
                   *hazard.rules == '\0' ? "no rule" : hazard.rules, hazard.limit);
}

}  // namespace

std::string catalogue_markdown() {
  fmt::memory_buffer page;
  const Out out(page);
  fmt::format_to(out,
                 "# Rules\n\nWritten by `refrain rules --format markdown`; change `audit/rules.cpp` instead. Ids are "
                 "never used again for something else.\n\n| rule | severity | what must not be |\n|---|---|---|\n");
  for (const Rule& rule : rules())
    fmt::format_to(out, "| [{0} {1}](#{2}-{1}) | {3} | {4} |\n", rule.id, rule.name, fmt::format("rf{}", rule.id + 2),
                   to_string(rule.severity), rule.summary);
  char group = '0';
  for (const Rule& rule : rules()) {
    if (rule.id[2] != group) fmt::format_to(out, "\n## {}\n", kGroups[rule.id[2] - '0']);
    group = rule.id[2];
    write_rule(out, rule);
  }
  write_hazards(out);
  return fmt::to_string(page);
}

}  // namespace refrain
