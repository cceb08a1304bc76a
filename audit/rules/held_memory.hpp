// What a program holds, by the calls that allocate and free: outside graphs only,
// because the memory of allocation nodes belongs to their launches. It follows
// calls one by one and keeps an entry for every live allocation.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "traces/timeline.hpp"

namespace refrain {

/// The call came back 0 and allocated at once, whatever was being captured.
[[nodiscard]] bool allocates(const ApiEvent& call) noexcept;

class HeldMemory {
 public:
  void follow(const ApiEvent& call);

  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }
  /// The allocation made by this call is still there.
  [[nodiscard]] bool holds(const ApiEvent& call) const;

 private:
  std::unordered_map<Address, const ApiEvent*> live_;
  std::uint64_t bytes_ = 0;
};

}  // namespace refrain
