// grouped_attention: page-4 sparse prefill over the plan of plan_grouped. M tile
// 16 rows, N tile 8 microblocks (32 tokens); scores and sums in fp32, P rounded
// to the query dtype, P@V accumulated in fp32. LSE is natural, -inf for an empty
// row, whose O is 0.
//
// Cross-query policy: a non-finite V row hurts exactly the queries that attend
// it. A tile holds rows of several queries, perhaps of several requests; P = 0
// does not protect a query from a NaN row that its neighbour attends, since
// 0 * NaN is NaN inside the MMA. So a non-finite V element never enters the MMA:
// it enters as 0, and the product p * v is added afterwards for the attending
// queries alone. Nothing is hidden (the attending query still turns NaN) and
// nothing leaks. Rows that no query attends enter as zeros by the same path.
#pragma once

#include "kernels/kv_pool_view.hpp"
#include "kernels/op.hpp"
#include "kernels/plan_grouped.hpp"

namespace refrain {

struct GroupedAttentionArgs {
  const void* q = nullptr;                    ///< [bucket, 6, dim], `q_dtype`
  Dtype q_dtype = Dtype::fp16;                ///< fp16 or bf16; also the dtype of `out`
  KvPoolView pool;                            ///< kv_heads == 1
  const std::int32_t* microblocks = nullptr;  ///< [groups, kGroupedWidth], pad_fixed
  const std::uint32_t* masks = nullptr;       ///< [groups, kGroupedWidth]
  const std::int32_t* tokens = nullptr;       ///< [groups]
  const float* k_scale = nullptr;             ///< [1]: folded into the softmax scale
  const float* v_scale = nullptr;             ///< [1]: applied once, after normalising
  float softmax_scale = 0;
  std::int32_t bucket = 0, groups = 0;  ///< groups == ceil(bucket / 8)
  void* out = nullptr;                  ///< [bucket, 6, dim], `q_dtype`
  float* lse = nullptr;                 ///< [bucket, 6]
  /// The kernel's own protection: zero-fill of unattended K/V rows and containment of non-finite V.
  /// False only for the fault `kernel-zero-off`, which then multiplies P = 0 with whatever lies there.
  bool zero_unattended = true;
};

/// Writes every row of `out` and `lse`: a group with 0 tokens comes out as O = 0, LSE = -inf, and
/// the ops of the XQA route overwrite its real rows afterwards. Needs `pad_fixed` over microblocks.
extern const Op<GroupedAttentionArgs> grouped_attention;

}  // namespace refrain
