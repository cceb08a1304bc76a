#include "runtime/free_ranges.hpp"

#include <iterator>

namespace refrain {

FreeRanges::FreeRanges(std::uint64_t bytes) {
  if (bytes > 0) free_[0] = bytes;
}

std::optional<std::uint64_t> FreeRanges::find(std::uint64_t bytes) const {
  for (const auto& [offset, size] : free_)
    if (size >= bytes) return offset;
  return std::nullopt;
}

void FreeRanges::take(std::uint64_t offset, std::uint64_t bytes) {
  const auto hole = free_.find(offset);
  const std::uint64_t size = hole->second;
  free_.erase(hole);
  if (size > bytes) free_[offset + bytes] = size - bytes;
}

void FreeRanges::give(std::uint64_t offset, std::uint64_t bytes) {
  auto hole = free_.emplace(offset, bytes).first;
  if (const auto next = std::next(hole); next != free_.end() && hole->first + hole->second == next->first) {
    hole->second += next->second;
    free_.erase(next);
  }
  if (hole == free_.begin()) return;
  const auto before = std::prev(hole);
  if (before->first + before->second != hole->first) return;
  before->second += hole->second;
  free_.erase(hole);
}

}  // namespace refrain
