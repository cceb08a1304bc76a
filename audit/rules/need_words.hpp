// The sentences for a failed need: what is wrong and what it does, the facts
// behind it, and how to mend it. For the engineer who reads them at night.
#pragma once

#include <string>
#include <vector>

#include "audit/facts.hpp"

namespace refrain {

/// `zeroed`, `pad-fixed`, `written`, `finite`
[[nodiscard]] const char* state_word(Fact fact) noexcept;

[[nodiscard]] std::string need_message(const Graph& graph, const Failure& failure);
[[nodiscard]] std::vector<std::string> need_evidence(const Graph& graph, const Failure& failure);
[[nodiscard]] std::string need_fix(const Graph& graph, const Failure& failure);

}  // namespace refrain
