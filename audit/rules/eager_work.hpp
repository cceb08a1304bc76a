// What the steps of a timeline ran eagerly and what they replayed: the words that
// the rules on graph breaks and fallbacks share.
#pragma once

#include "audit/captures.hpp"
#include "audit/graph_lives.hpp"

namespace refrain {

/// A kernel that ran when it was launched, outside any graph.
[[nodiscard]] inline bool is_eager_kernel(const ApiEvent& call) noexcept {
  return (call.api == Api::launch_kernel || call.api == Api::launch_kernel_first_use) && ran_at_once(call);
}

[[nodiscard]] inline bool is_replay(const ApiEvent& call) noexcept {
  return call.api == Api::graph_launch && ran_at_once(call);
}

}  // namespace refrain
