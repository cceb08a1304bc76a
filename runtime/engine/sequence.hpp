// One request while it is served. Invariant: the K and V of its first `launched` tokens
// are in its pages, or will be when the steps that were launched are done.
#pragma once

#include <algorithm>
#include <optional>

#include "runtime/engine/prompt_lookup.hpp"
#include "runtime/engine/request.hpp"

namespace refrain {

struct Sequence {
  std::uint64_t id = 0;
  Request request;
  std::vector<std::int32_t> tokens;  ///< prompt and answer
  std::vector<std::int32_t> pages;   ///< in the order of its tokens
  std::int32_t launched = 0;
  std::uint32_t epoch = 0;        ///< counts preemptions: what a step of an earlier one gives is void
  bool in_flight = false;         ///< a step that gives its next tokens is launched and not done
  std::uint64_t last_served = 0;  ///< turn of its last decode or verify step
  std::optional<PromptLookup> lookup;
  std::vector<std::int32_t> drafts;  ///< for the next verify step
  std::uint64_t submitted_ns = 0, first_token_ns = 0, last_token_ns = 0;

  [[nodiscard]] std::int32_t size() const noexcept { return static_cast<std::int32_t>(tokens.size()); }
  [[nodiscard]] std::int32_t generated() const noexcept {
    return static_cast<std::int32_t>(tokens.size() - request.prompt.size());
  }
  [[nodiscard]] std::int64_t most_cached_tokens() const noexcept {
    return most_cached(static_cast<std::int64_t>(request.prompt.size()), request.max_tokens);
  }
  [[nodiscard]] bool stops_at(std::int32_t token) const noexcept {
    return std::find(request.stop.begin(), request.stop.end(), token) != request.stop.end();
  }
};

}  // namespace refrain
