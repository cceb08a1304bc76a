// The two routes that bench_grouped compares, over one request and one selection:
// its last rows, each selecting 512 visible blocks at random (the least that
// neighbours can share) and its tail. Not a measurement; that is grouped.cpp.
#pragma once

#include <fmt/format.h>

#include <string>

#include "bench/gpu_bench.hpp"
#include "kernels/grouped_attention.hpp"
#include "kernels/pad_fix.hpp"
#include "kernels/plan_xqa.hpp"
#include "kernels/xqa_decode.hpp"

namespace refrain::bench {

inline constexpr std::int32_t kContext = 8192, kDim = 256, kHeads = kGroupedHeads;
inline constexpr std::int32_t kMultiprocessors = 132;

struct Case {
  std::int32_t rows;
  Dtype dtype;
  [[nodiscard]] std::string name() const { return fmt::format("{}-rows{}-ctx{}", to_string(dtype), rows, kContext); }
};

struct Routes {
  PlanGroupedArgs plan;
  PadFixArgs fix;  ///< of no route, for the planner does it: what a node of its own would cost
  GroupedAttentionArgs attention;
  PlanXqaArgs plan_slots;  ///< a slot a row
  XqaDecodeArgs decode;

  /// As a step records them: each kernel but the first starts early.
  void grouped(cudaStream_t stream, bool protect) const;
  void xqa(cudaStream_t stream) const;
};

/// Everything on the device, written and synchronised; `arrays` owns it.
[[nodiscard]] Routes make_routes(const Case& c, const Stream& stream, DeviceArrays& arrays);

}  // namespace refrain::bench
