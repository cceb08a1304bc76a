// Failures and races put together by what caused them, so that one fault is one
// finding. A missing edge fails every need that crosses it; a buffer that nobody
// zeroes fails every consumer. The gravest failure of a cause leads it and decides
// which rule reports it. Failures that a node without a contract may have
// prevented are kept apart: they prove nothing.
#pragma once

#include <vector>

#include "audit/facts.hpp"

namespace refrain {

struct Causes {
  /// Never empty; the lead stands first.
  using Group = std::vector<const Failure*>;
  std::vector<Group> groups;
  std::vector<const Failure*> open;
  std::vector<std::vector<const Race*>> races;  ///< those that no group explains
};

/// Borrows `facts`. `is_body`: the graph around this one may have established what is missing here.
[[nodiscard]] Causes find_causes(const FactsResult& facts, const Topology& topology, bool is_body);

}  // namespace refrain
