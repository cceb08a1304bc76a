// What an engine has done, as plain values. Every step is counted once, in its phase, and
// is a replay or a fallback; every request ends in one of `finished` or `refusals`.
#pragma once

#include <array>
#include <cstdint>

#include "runtime/cache_stats.hpp"
#include "runtime/engine/histogram.hpp"
#include "runtime/step_key.hpp"

namespace refrain {

struct PhaseStats {
  std::uint64_t steps = 0;
  std::uint64_t replays = 0;   ///< of a graph; the others are fallbacks
  std::uint64_t rows = 0;      ///< that computed a token of a request
  std::uint64_t pad_rows = 0;  ///< the others, those past a draft's length among them
  Histogram step_ns;           ///< from the launch until its results were seen
};

struct EngineStats {
  std::array<PhaseStats, kPhases.size()> phases;  ///< by Phase
  Counter fallbacks;                              ///< reasons: first violations
  Counter refusals;                               ///< of requests; reasons: kinds
  Counter finished;                               ///< reasons: how they ended
  std::uint64_t submitted = 0;                    ///< requests that were not refused
  std::uint64_t tokens_in = 0;                    ///< of their prompts
  std::uint64_t tokens_out = 0;
  std::uint64_t drafted = 0, accepted = 0;  ///< tokens
  std::uint64_t preemptions = 0;
  std::uint64_t failed_launches = 0;   ///< of steps that were tried again
  std::uint64_t failed_settles = 0;    ///< of these, where it was not known at once whether the step had run
  std::uint64_t captured_late = 0;     ///< replays whose graph had to be captured first
  std::uint64_t eager_checks = 0;      ///< steps that were run once more, eagerly
  std::uint64_t eager_mismatches = 0;  ///< of these, those that gave something else

  // Now.
  std::int64_t pages = 0, pages_in_use = 0, pages_in_use_most = 0;
  std::size_t waiting = 0, running = 0;

  Histogram first_token_ns, between_tokens_ns, total_ns;  ///< of requests; in all: those that were not cancelled

  [[nodiscard]] PhaseStats& of(Phase phase) { return phases[static_cast<std::size_t>(phase)]; }
  [[nodiscard]] const PhaseStats& of(Phase phase) const { return phases[static_cast<std::size_t>(phase)]; }
  [[nodiscard]] std::uint64_t steps() const noexcept;
  /// Replayed steps of all; 1 where there were none.
  [[nodiscard]] double coverage() const noexcept;
};

/// Prometheus text exposition 0.0.4, names refrain_*.
[[nodiscard]] std::string prometheus_text(const EngineStats& stats);

}  // namespace refrain
