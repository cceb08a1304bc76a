// Findings that somebody has looked at and lets pass, each with the reason and,
// as a rule, a last day. Nothing is let pass in silence: every report shows what
// is suppressed and why, an entry past its day stops working and is named, and
// so is one that matches nothing.
//
//   [{"rule": "RF202", "where": "step decode, *", "reason": "pool of the capture, #12", "expires": "2027-03-31"}]
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "audit/report.hpp"

namespace refrain {

/// All that is given must fit the finding: rule, fingerprint, and `where` with `*` for any text and `?` for one
/// character.
struct Suppression {
  std::string rule, fingerprint, where;
  std::string reason;
  std::string expires;  ///< the last day on which it holds, `2027-03-31`; empty = none
};

/// `root`: a list of objects as above; each has a reason and at least one of rule, fingerprint and where. Throws
/// Error{input}.
[[nodiscard]] std::vector<Suppression> read_suppressions(const nlohmann::json& root, const std::string& file);

/// `today` as `2026-11-30`. Open findings become suppressed; remarks name the entries that are expired or match
/// nothing.
void apply_suppressions(Report& report, const std::vector<Suppression>& suppressions, std::string_view today,
                        const std::string& file);

/// Of UTC.
[[nodiscard]] std::string today();

/// `*` stands for any text, `?` for one byte; everything else for itself. Linear but for the stars.
[[nodiscard]] bool matches_pattern(std::string_view pattern, std::string_view text) noexcept;

}  // namespace refrain
