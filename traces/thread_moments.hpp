// The calls of a thread that tell its loop: work handed out, waits, and captures,
// across which nothing repeats. Queries and bookkeeping are left out, since a loop
// makes now more of them and now fewer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "traces/timeline.hpp"

namespace refrain {

struct Moment {
  enum class Kind : std::uint8_t { work, replay, wait, barrier };
  std::uint32_t call = 0;  ///< index into Timeline::calls
  Kind kind = Kind::work;

  [[nodiscard]] bool submits() const noexcept { return kind == Kind::work || kind == Kind::replay; }
};

struct ThreadMoments {
  std::uint32_t thread = 0;
  std::vector<Moment> moments;
};

/// The threads that hand out at least half as much as the one that hands out the most.
[[nodiscard]] std::vector<ThreadMoments> moments_of(const Timeline& timeline);

}  // namespace refrain
