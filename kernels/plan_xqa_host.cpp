// The twin of the XQA planner. A key stands for a whole microblock, so a selected
// block counts only when its four entries are one aligned microblock below the
// length; the grouped planner can take such a block apart, a key can't.
#include <algorithm>
#include <cstdint>
#include <span>

#include "kernels/host_selection.hpp"
#include "kernels/host_twins.hpp"
#include "kernels/plan_xqa.hpp"

namespace refrain {
namespace {

std::int64_t make_key(std::int64_t token, std::int64_t microblock) {
  return token << 31 | microblock;
}

/// Fills one slot's keys in logical order, invalid ones last; returns how many tokens they hold.
std::int32_t plan_keys(const PlanXqaArgs& args, std::int32_t row, std::span<std::int64_t> keys) {
  const RowSelection s = row_selection(args.batch, args.selected, row);
  std::int32_t valid = 0;
  for (std::int64_t block = 0; block < s.complete; ++block) {
    const std::int32_t* entries = s.blocks + 4 * block;
    if (!is_aligned_block(entries) || entries[3] >= s.seq_len) continue;
    const std::int64_t id = microblock_of(args.batch, args.pool, s, entries[0]);
    if (id != kNoMicroblock) keys[valid++] = make_key(entries[0], id);
  }
  std::int32_t length = kMicroblockTokens * valid;
  if (s.tail > 0) {
    const std::int64_t id = microblock_of(args.batch, args.pool, s, s.tail_first);
    if (id != kNoMicroblock) {
      keys[valid++] = kTailKey | make_key(s.tail_first, id);
      length += s.tail;
    }
  }
  std::sort(keys.begin(), keys.begin() + valid);
  std::fill(keys.begin() + valid, keys.end(), kInvalidKey);
  return length;
}

std::int32_t plan_slot(const PlanXqaArgs& args, std::int32_t slot, std::int32_t row) {
  const bool real = row < real_rows(args.batch);
  if (args.keys == nullptr) return real ? static_cast<std::int32_t>(visible_tokens(args.batch, row)) : 0;
  const std::span<std::int64_t> keys(args.keys + std::int64_t{slot} * kXqaSlots, kXqaSlots);
  if (real) return plan_keys(args, row, keys);
  std::fill(keys.begin(), keys.end(), kInvalidKey);
  return 0;
}

}  // namespace

void plan_xqa_host(const PlanXqaArgs& args) {
  const std::int32_t rows = real_rows(args.batch);
  const std::int32_t base = args.group_rows != 0 ? rows - rows % args.group_rows : 0;
  const SplitRule rule{args.partitions, args.partition_tokens};
  std::int32_t most = 0;
  for (std::int32_t slot = 0; slot < args.slots; ++slot) {
    const std::int32_t row = base + slot;
    args.slot_rows[slot] = args.group_rows != 0 && row >= rows ? -1 : row;
    args.lengths[slot] = plan_slot(args, slot, row);
    most = std::max(most, rule.splits(args.lengths[slot]));
  }
  if (args.active_partitions != nullptr) *args.active_partitions = most;
  std::fill_n(args.counters, args.counters_zeroed, 0);
}

}  // namespace refrain
