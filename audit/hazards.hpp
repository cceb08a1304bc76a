// The hazards of capture and replay, and for each of them who sees it: the rules
// that do, or the reason why no rule can. It is the promise that nothing known is
// left out in silence; a test holds it against the rule table.
#pragma once

#include <span>
#include <string_view>
#include <vector>

namespace refrain {

struct Hazard {
  unsigned number;    ///< 1-based, in the order of the table
  const char* name;   ///< what goes wrong, in a few words
  const char* rules;  ///< ids with spaces between; empty when no rule sees it
  const char* limit;  ///< what the rules need for it, or why none can see it; empty when a plain input is enough
};

[[nodiscard]] std::span<const Hazard> hazards();

/// The ids of `hazard.rules`.
[[nodiscard]] std::vector<std::string_view> rules_of(const Hazard& hazard);

}  // namespace refrain
