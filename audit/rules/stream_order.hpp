// What is ordered after one call of a timeline, by streams, events and host
// waits: enough to say whether later work can overlap it. A stream other than the
// legacy one is taken for non-blocking: the recording does not say which it is.
#pragma once

#include <cstdint>
#include <set>

#include "traces/timeline.hpp"

namespace refrain {

class OrderedAfter {
 public:
  explicit OrderedAfter(std::uint32_t stream) : streams_{stream} {}

  /// Takes the next call. True when the host has waited for the first one with it: nothing can overlap it any more.
  bool follow(const ApiEvent& call);
  /// False for calls that follow() has no use for, whatever came before.
  [[nodiscard]] static bool concerns(Api api) noexcept;
  /// The work of `call` comes after it.
  [[nodiscard]] bool orders(const ApiEvent& call) const { return streams_.contains(call.stream); }

 private:
  std::set<std::uint32_t> streams_;
  std::set<std::uint64_t> events_;
};

}  // namespace refrain
