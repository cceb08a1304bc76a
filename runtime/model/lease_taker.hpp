// Leases a model's memory from an arena, or without one only counts it: so what is
// counted is what is leased.
#pragma once

#include <string>
#include <utility>

#include "runtime/arena.hpp"

namespace refrain {

class LeaseTaker {
 public:
  /// Null: counts.
  explicit LeaseTaker(Arena* arena) : arena_(arena) {}

  /// [a, b, c, d] elements; an empty lease for none.
  Lease take(std::string name, Role role, Dtype dtype, std::int64_t a, std::int64_t b = 1, std::int64_t c = 1,
             std::int64_t d = 1) {
    return take({std::move(name), static_cast<std::uint64_t>(a * b * c * d) * dtype_bytes(dtype), role, dtype});
  }
  /// Throws Error{refused} when the arena is full.
  Lease take(const LeaseRequest& request) {
    bytes_ += (request.bytes + kLeaseAlignment - 1) / kLeaseAlignment * kLeaseAlignment;
    return arena_ != nullptr && request.bytes > 0 ? arena_->lease(request) : Lease{};
  }
  /// Of an arena, for everything that was taken.
  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }

 private:
  static constexpr std::uint64_t kLeaseAlignment = 256;  // Arena::lease

  Arena* arena_;
  std::uint64_t bytes_ = 0;
};

}  // namespace refrain
