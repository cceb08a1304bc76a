// The rule table as text, as JSON and as a page, and the table of hazards: what
// `refrain rules` prints.
#pragma once

#include <string>

#include "audit/rules.hpp"

namespace refrain {

/// One line a rule. Ends in a newline, like the others.
[[nodiscard]] std::string catalogue_text();
/// One rule with its explanation.
[[nodiscard]] std::string rule_text(const Rule& rule);
/// `refrain.rules/1`: all rules, or the one.
[[nodiscard]] std::string catalogue_json(const Rule* only = nullptr);
/// audit/RULES.md: every rule with its explanation, and the hazards.
[[nodiscard]] std::string catalogue_markdown();

/// Two lines a hazard: which rules see it, and what limits them or why none can.
[[nodiscard]] std::string hazards_text();
/// `refrain.hazards/1`
[[nodiscard]] std::string hazards_json();

}  // namespace refrain
