#include "audit/suppressions.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <array>
#include <ctime>
#include <nlohmann/json.hpp>

#include "audit/rules.hpp"
#include "graphs/json_parts.hpp"
#include "graphs/text.hpp"

namespace refrain {
namespace {

bool leap(std::uint64_t year) {
  return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

/// `2027-03-31`: ten characters, so that such days compare as text.
bool is_day(std::string_view text) {
  constexpr std::array<unsigned, 12> kDays = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  if (text.size() != 10 || text[4] != '-' || text[7] != '-') return false;
  const auto year = parse_unsigned(text.substr(0, 4)), month = parse_unsigned(text.substr(5, 2)),
             day = parse_unsigned(text.substr(8));
  if (!year || !month || !day || *month < 1 || *month > 12 || *day < 1) return false;
  return *day <= kDays[*month - 1] + (*month == 2 && leap(*year) ? 1U : 0U);
}

Suppression read_one(const JsonView& view) {
  view.check_object("a suppression", {"rule", "fingerprint", "where", "reason", "expires"});
  Suppression entry;
  read_text(view, "rule", entry.rule);
  read_text(view, "fingerprint", entry.fingerprint);
  read_text(view, "where", entry.where);
  read_text(view, "expires", entry.expires);
  const JsonView reason = view.need("reason");
  entry.reason = reason.text();
  if (trim(entry.reason).empty()) reason.fail("a reason", "say why the finding may stand");
  if (entry.rule.empty() && entry.fingerprint.empty() && entry.where.empty())
    view.fail("a rule, a fingerprint or a where", "say which findings are meant");
  if (!entry.rule.empty() && find_rule(entry.rule) == nullptr)
    view.need("rule").fail("the id of a rule", "see refrain rules");
  if (!entry.expires.empty() && !is_day(entry.expires))
    view.need("expires").fail("a day as YYYY-MM-DD", "write the last day on which it holds");
  return entry;
}

bool fits(const Suppression& entry, const Finding& finding) {
  return (entry.rule.empty() || entry.rule == finding.rule) &&
         (entry.fingerprint.empty() || entry.fingerprint == finding.fingerprint) &&
         (entry.where.empty() || matches_pattern(entry.where, finding.where));
}

std::string name_of(const Suppression& entry, std::size_t index, const std::string& file) {
  std::string name = fmt::format("{}: [{}]", file, index);
  for (const std::string* part : {&entry.rule, &entry.fingerprint, &entry.where})
    if (!part->empty()) name += " " + *part;
  return name;
}

}  // namespace

std::vector<Suppression> read_suppressions(const nlohmann::json& root, const std::string& file) {
  const JsonView view(root, file);
  std::vector<Suppression> list;
  for (std::size_t i = 0; i < view.array_size(); ++i) list.push_back(read_one(view.at(i)));
  return list;
}

void apply_suppressions(Report& report, const std::vector<Suppression>& suppressions, std::string_view day,
                        const std::string& file) {
  for (std::size_t i = 0; i < suppressions.size(); ++i) {
    const Suppression& entry = suppressions[i];
    const bool expired = !entry.expires.empty() && entry.expires < day;
    std::size_t matched = 0;
    for (std::size_t f = 0; f < report.findings().size(); ++f) {
      const Finding& finding = report.findings()[f];
      if (!fits(entry, finding)) continue;
      ++matched;
      if (!expired && finding.standing == Standing::open)
        report.excuse(f, Standing::suppressed,
                      entry.expires.empty() ? entry.reason : fmt::format("{}, until {}", entry.reason, entry.expires));
    }
    if (matched == 0)
      report.remarks.push_back(fmt::format("{} matches no finding: remove it", name_of(entry, i, file)));
    else if (expired)
      report.remarks.push_back(fmt::format(
          "{} expired on {} and suppresses nothing any more: {} finding{} count{} again", name_of(entry, i, file),
          entry.expires, matched, matched == 1 ? "" : "s", matched == 1 ? "s" : ""));
  }
}

std::string today() {
  return fmt::format("{:%Y-%m-%d}", fmt::gmtime(std::time(nullptr)));
}

bool matches_pattern(std::string_view pattern, std::string_view text) noexcept {
  std::size_t p = 0, t = 0, star = std::string_view::npos, retry = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      retry = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;  // the last star takes one more
      t = ++retry;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

}  // namespace refrain
