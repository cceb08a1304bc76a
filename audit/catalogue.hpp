// The rule table as text and as JSON: what `refrain rules` prints.
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

}  // namespace refrain
