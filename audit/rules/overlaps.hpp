// Launches that nothing orders: of each key (a graph exec, a communicator) it
// keeps the last launch on every stream until something waits for it.
#pragma once

#include <cstdint>
#include <vector>

#include "audit/rules/stream_order.hpp"

namespace refrain {

class Overlaps {
 public:
  /// Takes the next call of the timeline, launches too.
  void follow(const ApiEvent& call) {
    if (!OrderedAfter::concerns(call.api)) return;
    std::erase_if(live_, [&](Live& live) { return live.after.follow(call); });
  }

  /// A launch with the key: calls overlap(earlier launch) for each that may still run, then keeps this one.
  template <class Overlap>
  void launch(std::uint64_t key, const ApiEvent& call, Overlap overlap) {
    std::erase_if(live_, [&](const Live& live) {
      if (live.key != key) return false;
      if (live.after.orders(call)) return true;
      overlap(*live.launch);
      return false;
    });
    // The oldest that nobody waited for go: a timeline without waits would cost its square.
    if (live_.size() >= kKept) live_.erase(live_.begin());
    live_.push_back({key, &call, OrderedAfter(call.stream)});
  }

 private:
  struct Live {
    std::uint64_t key = 0;
    const ApiEvent* launch = nullptr;
    OrderedAfter after;
  };
  static constexpr std::size_t kKept = 64;
  std::vector<Live> live_;
};

}  // namespace refrain
