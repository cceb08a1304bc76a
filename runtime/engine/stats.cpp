#include "runtime/engine/stats.hpp"

namespace refrain {

std::uint64_t EngineStats::steps() const noexcept {
  std::uint64_t all = 0;
  for (const PhaseStats& phase : phases) all += phase.steps;
  return all;
}

double EngineStats::coverage() const noexcept {
  std::uint64_t replays = 0;
  for (const PhaseStats& phase : phases) replays += phase.replays;
  return steps() == 0 ? 1.0 : static_cast<double>(replays) / static_cast<double>(steps());
}

}  // namespace refrain
