// The two kernels of grouped_attention, for its launcher, which chooses, and for tests
// and benches that want a certain one. They give the same up to the order of sums.
#pragma once

#include "kernels/grouped_attention.hpp"

namespace refrain {

/// Against what a row of padding holds.
enum class GroupedGuard : unsigned char {
  on,
  off,   ///< nothing is zeroed: the fault `kernel-zero-off`, where NaN spreads over the M tiles that take part
  bare,  ///< nothing is zeroed or looked at, for the price of `on`; here NaN may spread over all of a group's rows
};

/// Warp-wide matrix instructions, any device from sm_80 on; args.zero_unattended says what it says.
void grouped_attention_mma_launch(const GroupedAttentionArgs& args, void* stream, bool early = false);

/// Needs has_wgmma(); args.zero_unattended counts for nothing.
void grouped_attention_wgmma_launch(const GroupedAttentionArgs& args, void* stream, GroupedGuard guard,
                                    bool early = false);

}  // namespace refrain
