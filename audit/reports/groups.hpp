// The groups of rules, by the first digit of their ids, and a report's items in
// the order in which a reader wants them: by group, then as the rules ran.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "audit/report.hpp"

namespace refrain {

/// `zeroing, padding, order` for `RF301`.
[[nodiscard]] const char* group_title(std::string_view rule);

struct FindingGroup {
  const char* title;
  std::vector<const Finding*> findings;
};

/// The open findings. A group without one is left out. Borrows from `report`.
[[nodiscard]] std::vector<FindingGroup> open_findings(const Report& report);
/// Those that do not count, the known ones first.
[[nodiscard]] std::vector<const Finding*> excused_findings(const Report& report);

/// One reason, with the rules that it stopped: `RF401, RF402`.
struct ReasonRules {
  std::string reason, rules;
};
[[nodiscard]] std::vector<ReasonRules> not_checked_by_reason(const Report& report);

/// `3 nodes`, `1 node`.
[[nodiscard]] std::string plural(std::size_t count, std::string_view word);

/// `2 errors, 0 warnings, 1 note`, or that nothing was found, as far as it was checked; then what does not count.
[[nodiscard]] std::string summary(const Report& report);

}  // namespace refrain
