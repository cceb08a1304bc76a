// plan_xqa: what xqa_decode reads, decided on the device: which row a slot
// serves, its sorted microblock keys, how many tokens count, how many splits
// are active; and it zeroes the split counters, inside the captured region. One plan
// serves all layers of a step, for they differ in their pages' contents alone.
//
// A slot is a place for one row that is decoded: slot s serves row base + s,
// base = group_rows ? rows - rows % group_rows : 0 (rows: the real ones).
// With group_rows == 8 the grouped route has the rows before base.
#pragma once

#include "kernels/batch_view.hpp"
#include "kernels/kv_pool_view.hpp"
#include "kernels/op.hpp"
#include "kernels/plan_grouped.hpp"
#include "kernels/xqa_splits.hpp"

namespace refrain {

inline constexpr std::int32_t kXqaSlots = kSelectedBlocks + 1;  ///< key slots a row: complete blocks + tail
inline constexpr std::int64_t kInvalidKey = INT64_MAX;          ///< sorts last, is never dereferenced
inline constexpr std::int64_t kTailKey = std::int64_t{1} << 62;
/// key = (token << 31) | microblock, plus kTailKey for the tail: ascending order is logical order.
inline constexpr std::int64_t kKeyMicroblockMask = (std::int64_t{1} << 30) - 1;

struct PlanXqaArgs {
  const std::int32_t* selected =
      nullptr;  ///< [bucket, kSelectedWidth], or null: dense, every token up to the row's position
  BatchView batch;
  KvPoolView pool;
  std::int32_t slots = 0;             ///< capacity; bucket when group_rows == 0, min(bucket, 7) when 8
  std::int32_t group_rows = 0;        ///< 0 or kGroupRows
  std::int32_t heads = 0;             ///< query heads
  std::int32_t partitions = 0;        ///< the most splits of a row, as the decode has it (SplitRule)
  std::int32_t partition_tokens = 0;  ///< the fewest tokens of a split that others follow, likewise
  std::int64_t* keys = nullptr;       ///< out [slots, kXqaSlots]; null when dense
  std::int32_t* slot_rows = nullptr;  ///< out [slots]: the row; -1 = none (only when group_rows != 0)
  std::int32_t* lengths =
      nullptr;  ///< out [slots]: tokens that count, from *valid* keys; 0 for pad rows and empty slots
  std::int32_t* active_partitions = nullptr;  ///< out [1]: the most splits of any slot; null: not written here
  std::int32_t counter_sets = 1;              ///< one for each xqa_decode that goes by this plan: a layer each
  std::int32_t* counters = nullptr;           ///< out [sets, slots, heads]: zeroed
  std::int64_t counters_zeroed = 0;           ///< how many counters are zeroed: all sets', fewer only by a named fault
};

/// Every element of every output is written on every launch. Gives `zeroed` over the counters that it zeroes.
/// Length of a sparse row: 4 x valid complete keys + the tail's tokens, so an invalid block never makes
/// the range swallow what lies behind it.
extern const Op<PlanXqaArgs> plan_xqa;

}  // namespace refrain
