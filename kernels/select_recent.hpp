// select_recent and select_slots: what each row of a step attends, decided on the
// device from its position alone: the first tokens of the request (attention sinks)
// and the most recent ones, a known policy that needs no scores. In a model that
// learns its selection an indexer takes this place and writes the same arrays.
// select_recent gives whole 4-token blocks and the causal tail, as the planners take
// them; select_slots gives physical slots, as sparse MLA takes them.
#pragma once

#include "kernels/batch_view.hpp"
#include "kernels/mla_pool_view.hpp"
#include "kernels/op.hpp"
#include "kernels/plan_grouped.hpp"

namespace refrain {

struct SelectRecentArgs {
  BatchView batch;                        ///< its page table is not read
  std::int32_t blocks = kSelectedBlocks;  ///< a row at most, 1 .. kSelectedBlocks
  std::int32_t sinks = 0;                 ///< of them at the request's start, 0 .. blocks
  std::int32_t* selected = nullptr;       ///< out [bucket, kSelectedWidth]: tokens of the request, -1 = none
};

/// Of a row's complete blocks the first `sinks` and the last others, `blocks` in all, ascending; all of them where they
/// fit. The causal tail stands where the planners look for it: behind as many entries as there are complete blocks, up
/// to kSelectedBlocks. All other entries are -1. Every element is written; pad rows, and rows whose request does not
/// exist, are -1.
extern const Op<SelectRecentArgs> select_recent;

struct SelectSlotsArgs {
  BatchView batch;
  MlaPoolView pool;                 ///< only its shape is used
  std::int32_t sinks = 0;           ///< tokens of the request's start, 0 .. topk
  std::int32_t topk = 0;            ///< tokens a row at most
  std::int32_t* indices = nullptr;  ///< out [bucket, topk]: slots, -1 = none
  std::int32_t* lengths = nullptr;  ///< out [bucket]: entries of the row's list
};

/// Of the tokens that a row sees the first `sinks` and the last others, topk in all, ascending; all of them where they
/// fit. A token whose table entry is no page in [1, pages) is -1. Every element is written: -1 past the length, and
/// length 0 in pad rows.
extern const Op<SelectSlotsArgs> select_slots;

/// The i-th of `kept` numbers below `count`: the first `sinks` and the last others, ascending.
[[nodiscard]] constexpr std::int64_t recent_at(std::int64_t i, std::int64_t kept, std::int64_t count,
                                               std::int64_t sinks) noexcept {
  return i < sinks ? i : count - kept + i;
}

}  // namespace refrain
