// The id that Nsight Systems gives a thread (globalTid) or a process (globalPid).
#pragma once

#include <cstdint>

namespace refrain {

struct GlobalId {
  std::uint64_t pid = 0, tid = 0;
};

/// A globalTid; a globalPid has the same form with a tid of 0.
[[nodiscard]] constexpr GlobalId split(std::uint64_t id) noexcept {
  return {id >> 24 & 0xff'ffff, id & 0xff'ffff};
}

}  // namespace refrain
