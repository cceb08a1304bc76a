// The ends of a step that takes its inputs and gives its results without any call
// but its launch. ring_take, the first kernel, copies the slot that a device counter
// names from mapped pinned memory to where the graph reads its inputs; ring_give, the
// last, copies results to the slot's mapped results, then stores the slot's sequence
// number, which the host polls, and counts on. The host side is runtime/step_ring.hpp.
#pragma once

#include <array>
#include <cstdint>

#include "kernels/op.hpp"

namespace refrain {

inline constexpr std::int32_t kRingFields = 16;

/// `bytes` bytes at `offset` of a slot and at `device`; both places are multiples of 16.
struct RingField {
  std::byte* device = nullptr;
  std::uint64_t offset = 0, bytes = 0;
  Role role = Role::input;
  Dtype dtype = Dtype::unknown;
};

/// [depth] slots of `slot_bytes`, a multiple of 16, in mapped pinned memory.
struct RingView {
  std::byte* slots = nullptr;
  std::uint64_t slot_bytes = 0;
  std::uint32_t depth = 0;
  std::uint64_t* counter = nullptr;  ///< [1], device memory: steps that are done; its slot is counter % depth
};

struct RingTakeArgs {
  RingView ring;
  std::array<RingField, kRingFields> fields{};
  std::int32_t count = 0;
};

struct RingGiveArgs {
  RingView ring;
  std::array<RingField, kRingFields> fields{};  ///< results: from `device` to the slot
  std::int32_t count = 0;
  std::uint64_t* done = nullptr;  ///< [depth], mapped pinned: counter + 1, stored after the results of the slot are
};

/// Writes every field exactly. Which slot is read stands in memory, so the whole ring may be.
extern const Op<RingTakeArgs> ring_take;
/// Writes one slot of results and one sequence number (`may`), and the counter exactly.
extern const Op<RingGiveArgs> ring_give;

}  // namespace refrain
