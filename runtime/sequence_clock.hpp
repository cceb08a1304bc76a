// One rising number for everything that a recording orders: calls, buffers born
// and died, graphs, checks. Shared by the RecordingDriver and the BufferRegistry.
#pragma once

#include <atomic>
#include <cstdint>

namespace refrain {

class SequenceClock {
 public:
  /// 1, 2, 3, ... Thread-safe.
  [[nodiscard]] std::uint64_t tick() noexcept { return ++last_; }

 private:
  std::atomic<std::uint64_t> last_{0};
};

}  // namespace refrain
