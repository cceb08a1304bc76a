// Pieces that a review's JSON and the comparison of two have in common.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "audit/review/review.hpp"
#include "audit/review/step_kinds.hpp"

namespace refrain {

/// Counts, bytes and times of a step or of a sum; null for what the input does not tell.
[[nodiscard]] nlohmann::ordered_json figures_json(const StepStats& stats);
[[nodiscard]] nlohmann::ordered_json basis_json(const StepCut& cut);
[[nodiscard]] nlohmann::ordered_json totals_json(const StepTotals& totals);
[[nodiscard]] nlohmann::ordered_json kind_json(const StepKindRow& row);
/// Pretty-printed, ending in a newline; bytes that are no UTF-8 replaced.
[[nodiscard]] std::string dump(const nlohmann::ordered_json& json);

}  // namespace refrain
