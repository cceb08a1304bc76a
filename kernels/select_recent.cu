// One block a row. What stands at an entry follows from its number alone, so each
// thread computes its own entries; select_slots looks the page of each token up, which
// the cache answers. Floor: rows * (width or topk) * 4 bytes written.
#include <cassert>
#include <cstdint>

#include "kernels/device/selection.cuh"
#include "kernels/launchers.hpp"
#include "kernels/select_recent.hpp"

namespace refrain {
namespace {

constexpr std::int32_t kThreads = 256;

/// None in a pad row.
__device__ std::int64_t seen_by(const BatchView& batch, std::int32_t row) {
  return row < device::real_rows(batch) ? device::visible_tokens(batch, row) : 0;
}

__global__ void __launch_bounds__(kThreads) select_recent_kernel(const SelectRecentArgs args) {
  const auto row = static_cast<std::int32_t>(blockIdx.x);
  const auto seen = static_cast<std::int32_t>(seen_by(args.batch, row));
  const std::int32_t complete = seen / kMicroblockTokens, kept = min(complete, args.blocks);
  const std::int32_t tail = kMicroblockTokens * min(complete, kSelectedBlocks);  // where it begins
  std::int32_t* out = args.selected + std::int64_t{row} * kSelectedWidth;
  for (auto at = static_cast<std::int32_t>(threadIdx.x); at < kSelectedWidth; at += kThreads) {
    const auto block = static_cast<std::int32_t>(recent_at(at / kMicroblockTokens, kept, complete, args.sinks));
    std::int32_t token = -1;
    if (at < kMicroblockTokens * kept) token = kMicroblockTokens * block + at % kMicroblockTokens;
    if (at >= tail && at < tail + seen % kMicroblockTokens) token = kMicroblockTokens * complete + at - tail;
    out[at] = token;
  }
}

__global__ void __launch_bounds__(kThreads) select_slots_kernel(const SelectSlotsArgs args) {
  const auto row = static_cast<std::int32_t>(blockIdx.x);
  const std::int64_t seen = seen_by(args.batch, row), kept = min(seen, std::int64_t{args.topk});
  const std::int32_t request = seen > 0 ? args.batch.token_to_req[row] : 0;
  std::int32_t* out = args.indices + std::int64_t{row} * args.topk;
  for (auto at = static_cast<std::int32_t>(threadIdx.x); at < args.topk; at += kThreads)
    out[at] = at < kept ? static_cast<std::int32_t>(
                              device::slot_of(args.batch, args.pool, request, recent_at(at, kept, seen, args.sinks)))
                        : -1;
  if (threadIdx.x == 0) args.lengths[row] = static_cast<std::int32_t>(kept);
}

}  // namespace

void select_recent_launch(const SelectRecentArgs& args, void* stream) {
  assert(args.batch.bucket > 0 && args.blocks > 0 && args.blocks <= kSelectedBlocks);
  assert(args.sinks >= 0 && args.sinks <= args.blocks);
  select_recent_kernel<<<static_cast<unsigned>(args.batch.bucket), kThreads, 0, static_cast<cudaStream_t>(stream)>>>(
      args);
}

void select_slots_launch(const SelectSlotsArgs& args, void* stream) {
  assert(args.batch.bucket > 0 && args.topk > 0 && args.sinks >= 0 && args.sinks <= args.topk);
  assert(args.pool.slots() <= INT32_MAX);
  select_slots_kernel<<<static_cast<unsigned>(args.batch.bucket), kThreads, 0, static_cast<cudaStream_t>(stream)>>>(
      args);
}

}  // namespace refrain
