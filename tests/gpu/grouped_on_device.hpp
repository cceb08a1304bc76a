// One run of the grouped route for tests: planned by the twins in the scene's own
// memory, attended by the kernel on a device copy. It checks what any run must
// keep (nothing else is written, replays give the same bits) and leaves the values
// to the caller.
#pragma once

#include <vector>

#include "tests/kernels/scene.hpp"

namespace refrain::test {

struct GroupedOutputs {
  std::vector<std::byte> out;
  std::vector<float> lse;
  /// To the bit; NaN equals the same NaN.
  friend bool operator==(const GroupedOutputs& a, const GroupedOutputs& b);
};

struct Dtypes {
  Dtype kv, q;
};
inline constexpr Dtypes kGroupedDtypes[] = {
    {Dtype::e4m3, Dtype::fp16}, {Dtype::fp16, Dtype::fp16}, {Dtype::bf16, Dtype::bf16}, {Dtype::e4m3, Dtype::bf16}};

struct GroupedKernel {
  const char* name;
  void (*launch)(const GroupedAttentionArgs&, void*);
};

/// What the op launches on this device and, where that is the kernel of warpgroups, the other one too.
[[nodiscard]] std::vector<GroupedKernel> grouped_kernels();

/// `run` must be the last that took memory of its scene: its out and lse are the last two blocks.
[[nodiscard]] GroupedOutputs run_grouped_on_device(const GroupedKernel& kernel, GroupedRun& run, bool with_pad_fix,
                                                   bool zero_unattended);

/// The rows that the grouped route has, for the oracle.
[[nodiscard]] std::vector<OracleRow> planned_rows(const Scene& scene);
void require_right(const Scene& scene, const GroupedOutputs& got);

/// 8 x 6 rows of 256 with one flag an element.
using Flags = std::vector<bool>;

/// NaN exactly where `hurt` says, the same bits as without elsewhere.
void require_hurt(const GroupedOutputs& clean, const GroupedOutputs& got, Dtype q, const Flags& hurt);

/// Elements of the rows that attend `token` of `request`, at `dim` or at every dim (-1).
[[nodiscard]] Flags attending_elements(const Scene& scene, std::int32_t request, std::int64_t token, std::int64_t dim);

}  // namespace refrain::test
