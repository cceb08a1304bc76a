// The parts of [0, bytes) that nobody has: first fit, and neighbours that come back
// become one. Offsets alone; it knows no memory.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

namespace refrain {

class FreeRanges {
 public:
  explicit FreeRanges(std::uint64_t bytes);

  /// Where `bytes` in one piece are free; they stay so until take().
  [[nodiscard]] std::optional<std::uint64_t> find(std::uint64_t bytes) const;
  /// What find() gave.
  void take(std::uint64_t offset, std::uint64_t bytes);
  /// What was taken, whole.
  void give(std::uint64_t offset, std::uint64_t bytes);

 private:
  std::map<std::uint64_t, std::uint64_t> free_;  // offset -> bytes, coalesced
};

}  // namespace refrain
