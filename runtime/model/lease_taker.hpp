// Leases a model's memory from an arena, or without one only counts it: so what is
// counted is what is leased. Scratch goes to the overlay of its phase: steps of one
// engine run one after another, so the phases share physical memory.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "runtime/arena.hpp"

namespace refrain {

class LeaseTaker {
 public:
  /// Null: counts.
  explicit LeaseTaker(Arena* arena) : arena_(arena) {}

  /// Of what is taken from here on; 0: memory of its own.
  void go_to_overlay(std::uint32_t overlay) {
    overlay_ = overlay;
    if (bytes_.size() <= overlay) bytes_.resize(overlay + 1);
  }

  /// [a, b, c, d] elements; an empty lease for none.
  Lease take(std::string name, Role role, Dtype dtype, std::int64_t a, std::int64_t b = 1, std::int64_t c = 1,
             std::int64_t d = 1) {
    return take({std::move(name), static_cast<std::uint64_t>(a * b * c * d) * dtype_bytes(dtype), role, dtype});
  }
  /// Throws Error{refused} when the arena is full.
  Lease take(LeaseRequest request) {
    bytes_[overlay_] += (request.bytes + kLeaseAlignment - 1) / kLeaseAlignment * kLeaseAlignment;
    request.overlay = overlay_;
    return arena_ != nullptr && request.bytes > 0 ? arena_->lease(request) : Lease{};
  }
  /// Of an arena, for everything that was taken.
  [[nodiscard]] ArenaSize size() const {
    const auto overlays = static_cast<std::uint32_t>(bytes_.size() - 1);
    return {bytes_[0], {overlays, overlays == 0 ? 0 : *std::max_element(bytes_.begin() + 1, bytes_.end())}};
  }

 private:
  static constexpr std::uint64_t kLeaseAlignment = 256;  // Arena::lease

  Arena* arena_;
  std::uint32_t overlay_ = 0;
  std::vector<std::uint64_t> bytes_ = {0};  // by overlay
};

}  // namespace refrain
