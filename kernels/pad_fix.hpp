// pad_fix: repoints every entry whose mask is 0 at the group's first microblock
// (column 0), so that no padding names the null block; for planners that leave
// such padding, as plan_grouped without fix_padding does. A select and a copy:
// no host, no sync, safe to capture. An empty group's column 0 is the null block
// itself and stays; such a group has 0 tokens and is never read.
#pragma once

#include "kernels/op.hpp"

namespace refrain {

struct PadFixArgs {
  std::int32_t* microblocks = nullptr;   ///< [groups, width] row-major, in place
  const std::uint32_t* masks = nullptr;  ///< [groups, width]
  std::int64_t groups = 0, width = 0;
};

/// Gives `pad_fixed` over microblocks.
extern const Op<PadFixArgs> pad_fix;

}  // namespace refrain
