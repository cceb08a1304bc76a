// Which races are the sharing of a workspace (rule 207) and which are a missing
// edge (rule 307): one cause is one finding, so both rules ask here.
#pragma once

#include <vector>

#include "audit/facts.hpp"
#include "graphs/graph.hpp"

namespace refrain {

[[nodiscard]] constexpr bool is_workspace(Role role) noexcept {
  return role == Role::workspace || role == Role::scratch;
}

/// The race of two writers that leads the group, when all its races are on workspaces; else null: where other buffers
/// are hit too, or a reader and a writer alone, an edge is missing.
[[nodiscard]] const Race* shared_workspace(const Graph& graph, const std::vector<const Race*>& group);

}  // namespace refrain
