// Calls of one kind counted over all steps of a timeline, so that a fault that
// repeats in every step is one finding; and the words that such findings share.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "audit/steps.hpp"

namespace refrain {

[[nodiscard]] constexpr std::uint64_t duration_ns(const ApiEvent& call) noexcept {
  return call.end_ns > call.start_ns ? call.end_ns - call.start_ns : 0;
}

/// One API, made by one op, over all steps.
struct StepCost {
  const ApiEvent* first = nullptr;
  std::uint64_t count = 0, total_ns = 0;
  std::size_t steps = 0;                 ///< that have any
  const StepCalls* worst = nullptr;      ///< the most host time; where times are not known, the most calls
  const ApiEvent* worst_call = nullptr;  ///< the first in it
  std::uint64_t worst_count = 0, worst_ns = 0;
};

class StepTally {
 public:
  explicit StepTally(const Timeline& timeline, std::size_t all_steps) : timeline_(timeline), all_steps_(all_steps) {}

  /// All calls of a step before those of the next. `ns`: host time that the call cost. `as`: the call that stands for
  /// several kinds which are one fault.
  void add(const StepCalls& step, const ApiEvent& call, std::uint64_t ns, const ApiEvent* as = nullptr);
  void add(const StepCalls& step, const ApiEvent& call) { add(step, call, duration_ns(call)); }

  /// Calls use(cost) for every kind.
  template <class Use>
  void each(Use use) {
    for (auto& [key, row] : rows_) {
      close(row);
      use(std::as_const(row.cost));
    }
  }

  /// A finding with its place, count and fingerprint names; message and fix are the rule's.
  [[nodiscard]] Finding finding(std::string_view rule, const StepCost& cost) const;
  /// `3 times in 3 of 5 steps`
  [[nodiscard]] std::string how_often(const StepCost& cost) const;
  /// What makes the finding the same in the next run.
  [[nodiscard]] std::vector<std::string> names(const StepCost& cost) const;

 private:
  struct Row {
    StepCost cost;
    const StepCalls* current = nullptr;
    const ApiEvent* current_call = nullptr;
    std::uint64_t count = 0, ns = 0;  // in the current step
  };
  static void close(Row& row);

  const Timeline& timeline_;
  std::size_t all_steps_;
  std::map<std::pair<Api, StringId>, Row> rows_;
};

}  // namespace refrain
