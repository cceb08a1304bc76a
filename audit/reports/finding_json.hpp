// A finding, and what was not checked, as every JSON of this program shows them.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "audit/report.hpp"

namespace refrain {

[[nodiscard]] nlohmann::ordered_json finding_json(const Finding& finding);
[[nodiscard]] nlohmann::ordered_json findings_json(const Report& report);
[[nodiscard]] nlohmann::ordered_json not_checked_json(const Report& report);
/// Counts of the open findings by severity, and of those that do not count.
[[nodiscard]] nlohmann::ordered_json summary_json(const Report& report);

}  // namespace refrain
