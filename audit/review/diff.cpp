// Two reviews side by side: kinds of steps with their medians and counts a step,
// and findings that are new or gone, told by their fingerprints.
#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "audit/reports/escape.hpp"
#include "audit/reports/finding_json.hpp"
#include "audit/reports/groups.hpp"
#include "audit/review/amounts.hpp"
#include "audit/review/json_parts.hpp"
#include "audit/review/text_table.hpp"

namespace refrain {
namespace {

using Json = nlohmann::ordered_json;

/// Of one kind; null where the other review alone has it.
struct KindPair {
  const StepKindRow* before = nullptr;
  const StepKindRow* after = nullptr;
};

std::vector<KindPair> pair_kinds(const std::vector<StepKindRow>& before, const std::vector<StepKindRow>& after) {
  std::vector<KindPair> pairs;
  for (const StepKindRow& row : before) pairs.push_back({&row, nullptr});
  for (const StepKindRow& row : after) {
    const auto same = std::find_if(pairs.begin(), pairs.end(), [&](const KindPair& pair) {
      return pair.before != nullptr && pair.before->kind == row.kind;
    });
    if (same != pairs.end())
      same->after = &row;
    else
      pairs.push_back({nullptr, &row});
  }
  return pairs;
}

std::vector<const Finding*> missing_in(const Report& from, const Report& other) {
  std::unordered_set<std::string> there;
  for (const Finding& finding : other.findings()) there.insert(finding.fingerprint);
  std::vector<const Finding*> missing;
  for (const Finding& finding : from.findings())
    if (!there.contains(finding.fingerprint)) missing.push_back(&finding);
  return missing;
}

std::string a_step(std::uint64_t count, std::size_t steps) {
  const double mean = static_cast<double>(count) / static_cast<double>(steps);
  return count % steps == 0 ? fmt::to_string(count / steps) : fmt::format("{:.2f}", mean);
}

std::vector<std::string> cells(const std::string& side, const StepKindRow* row) {
  if (row == nullptr) return {side, "-", "-", "-", "-", "-", "-", "-", "-", "-"};
  const StepStats& sum = row->totals.sum;
  const std::size_t n = row->steps.size();
  return {side,
          fmt::to_string(n),
          duration_text(row->median_host_ns),
          duration_text(row->worst_host_ns),
          a_step(sum.replays, n),
          a_step(sum.eager_launches, n),
          a_step(sum.syncs, n),
          a_step(pageable_copies(sum), n),
          row->gpu_busy ? fmt::format("{:.0f}%", 100 * *row->gpu_busy) : "-",
          row->median_launch_gap_ns ? duration_text(*row->median_launch_gap_ns) : "-"};
}

std::string change(const KindPair& pair) {
  if (pair.before == nullptr) return "only in b";
  if (pair.after == nullptr) return "only in a";
  if (pair.before->median_host_ns == 0) return "host median of a is 0";
  return fmt::format("host median {:+.1f} %", 100.0 * (static_cast<double>(pair.after->median_host_ns) /
                                                           static_cast<double>(pair.before->median_host_ns) -
                                                       1.0));
}

std::string kind_text(const KindPair& pair) {
  const std::string& kind = (pair.before != nullptr ? pair.before : pair.after)->kind;
  return fmt::format("{}: {}\n{}\n", kind.empty() ? "(no name)" : visible(kind), change(pair),
                     text_table({{"", "steps", "host median", "worst", "replays", "eager", "syncs", "pageable",
                                  "GPU busy", "launch gap"},
                                 cells("a", pair.before),
                                 cells("b", pair.after)}));
}

std::string list(const char* title, const std::vector<const Finding*>& findings) {
  if (findings.empty()) return "";
  std::string text = fmt::format("{}\n", title);
  for (const Finding* finding : findings)
    text += fmt::format("    {} {} {}  {}\n        {}\n", to_string(finding->severity), finding->rule, finding->name,
                        visible(finding->where), visible(finding->message));
  return text + "\n";
}

Json list_json(const std::vector<const Finding*>& findings) {
  Json list = Json::array();
  for (const Finding* finding : findings) list.push_back(finding_json(*finding));
  return list;
}

Json side_json(const Review& review) {
  return {{"input", review.recording().name},
          {"steps_by", basis_json(review.cut)},
          {"totals", totals_json(review.totals)},
          {"summary", summary_json(review.report)}};
}

}  // namespace

std::string review_diff_text(const Review& before, const Review& after, bool colour) {
  const auto a = step_kinds(before), b = step_kinds(after);
  std::string text;
  for (const auto& [side, review] : {std::pair("a", &before), std::pair("b", &after)})
    text += fmt::format("{}: {}, {}, by {}\n", side, visible(review->recording().name),
                        plural(review->steps.size(), "step"), to_string(review->cut.basis));
  text += "\n";
  for (const KindPair& pair : pair_kinds(a, b)) text += kind_text(pair);
  if (!a.empty() || !b.empty()) text += "  counts a step\n\n";
  const auto fresh = missing_in(after.report, before.report), gone = missing_in(before.report, after.report);
  text += list(colour ? "\x1b[1mnew findings\x1b[0m" : "new findings", fresh);
  text += list(colour ? "\x1b[1mfindings that are gone\x1b[0m" : "findings that are gone", gone);
  const std::size_t same = after.report.findings().size() - fresh.size();
  return text + fmt::format("{} new, {} gone, {} in both\n", plural(fresh.size(), "finding"), gone.size(), same);
}

std::string review_diff_json(const Review& before, const Review& after) {
  const auto a = step_kinds(before), b = step_kinds(after);
  Json kinds = Json::array();
  for (const KindPair& pair : pair_kinds(a, b))
    kinds.push_back({{"kind", (pair.before != nullptr ? pair.before : pair.after)->kind},
                     {"a", pair.before != nullptr ? kind_json(*pair.before) : Json(nullptr)},
                     {"b", pair.after != nullptr ? kind_json(*pair.after) : Json(nullptr)}});
  return dump({{"schema", "refrain.review-diff/1"},
               {"a", side_json(before)},
               {"b", side_json(after)},
               {"kinds", std::move(kinds)},
               {"new_findings", list_json(missing_in(after.report, before.report))},
               {"gone_findings", list_json(missing_in(before.report, after.report))}});
}

}  // namespace refrain
