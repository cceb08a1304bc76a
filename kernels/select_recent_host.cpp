#include <algorithm>
#include <cstdint>

#include "kernels/host_selection.hpp"
#include "kernels/host_twins.hpp"
#include "kernels/select_recent.hpp"

namespace refrain {
namespace {

/// None in a pad row.
std::int64_t seen_by(const BatchView& batch, std::int32_t row) {
  return row < real_rows(batch) ? visible_tokens(batch, row) : 0;
}

void select_blocks(const SelectRecentArgs& args, std::int64_t seen, std::int32_t* out) {
  const std::int64_t complete = seen / kMicroblockTokens, kept = std::min<std::int64_t>(complete, args.blocks);
  std::int32_t* tail = out + kMicroblockTokens * std::min<std::int64_t>(complete, kSelectedBlocks);
  std::fill_n(out, kSelectedWidth, -1);
  for (std::int64_t i = 0; i < kept; ++i)
    for (std::int32_t token = 0; token < kMicroblockTokens; ++token)
      *out++ = static_cast<std::int32_t>(kMicroblockTokens * recent_at(i, kept, complete, args.sinks)) + token;
  for (std::int64_t token = kMicroblockTokens * complete; token < seen; ++token)
    *tail++ = static_cast<std::int32_t>(token);
}

}  // namespace

void select_recent_host(const SelectRecentArgs& args) {
  for (std::int32_t row = 0; row < args.batch.bucket; ++row)
    select_blocks(args, seen_by(args.batch, row), args.selected + std::int64_t{row} * kSelectedWidth);
}

void select_slots_host(const SelectSlotsArgs& args) {
  for (std::int32_t row = 0; row < args.batch.bucket; ++row) {
    const std::int64_t seen = seen_by(args.batch, row), kept = std::min<std::int64_t>(seen, args.topk);
    std::int32_t* out = args.indices + std::int64_t{row} * args.topk;
    for (std::int64_t i = 0; i < kept; ++i)
      out[i] = static_cast<std::int32_t>(
          slot_of(args.batch, args.pool, args.batch.token_to_req[row], recent_at(i, kept, seen, args.sinks)));
    std::fill(out + kept, out + args.topk, -1);
    args.lengths[row] = static_cast<std::int32_t>(kept);
  }
}

}  // namespace refrain
