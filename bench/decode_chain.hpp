// What bench_decode launches over a case's shape: plan and decode by one splitting, the
// arrays that they share, and the pools that they read in turn.
#pragma once

#include <cstddef>
#include <vector>

#include "bench/decode_cases.hpp"
#include "bench/gpu_bench.hpp"
#include "kernels/plan_xqa.hpp"
#include "kernels/xqa_decode.hpp"

namespace refrain::bench {

/// The chain's Args over one pool; the arrays are the case's, shared by all its pools.
struct Chain {
  PlanXqaArgs plan;
  XqaDecodeArgs decode;

  void enqueue(cudaStream_t stream) const {
    plan_xqa.launch(plan, stream);
    xqa_decode.launch(decode, stream);
  }
  /// Behind a kernel: each waits on the device for the one ahead of it.
  void enqueue_early(cudaStream_t stream) const {
    plan_xqa.launch_early(plan, stream);
    xqa_decode.launch_early(decode, stream);
  }
  void move_to(std::byte* pool) { plan.pool.data = decode.pool.data = pool; }
};

/// Pools that lie one behind the other, read in turn.
struct Pools {
  std::byte* first = nullptr;
  std::int64_t bytes = 0;  ///< of one
  std::int32_t count = 0;

  [[nodiscard]] std::byte* at(int turn) const { return first + turn % count * bytes; }
};

/// Pages handed out at random, queries the same in every chain of a case.
[[nodiscard]] Chain make_chain(const DecodeCase& c, const XqaSplitting& splitting, const Stream& stream,
                               DeviceArrays& arrays);
[[nodiscard]] std::vector<std::int32_t> pages_in_order(const DecodeCase& c);

/// Enqueues one plan and `decodes` behind it, at most kMostPools, which count in a set of counters each.
void enqueue_behind_one_plan(const Chain& chain, const Pools& pools, int decodes, bool early, cudaStream_t on);

}  // namespace refrain::bench
