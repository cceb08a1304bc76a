// One block a row. Of an E4M3 record the first warp encodes the nope part, a lane 16
// values, which are 16 bytes of codes: the lanes of a scale's group lie side by side
// and find its largest magnitude by shuffles. The rope, and all of a bf16 record, are
// copied 8 values a thread. Floor: launch and two dependent loads; a record has at
// most 1,152 bytes.
#include <cassert>
#include <cstdint>

#include "kernels/device/selection.cuh"
#include "kernels/device/vector.cuh"
#include "kernels/launchers.hpp"
#include "kernels/mla_append.hpp"

namespace refrain {
namespace {

constexpr std::int32_t kWarp = 32;
constexpr std::int32_t kThreads = 96;
constexpr std::int32_t kCodesALane = 16, kValuesACopy = 8;

struct Fp32Scale {
  static constexpr int kLanes = 128 / kCodesALane;  ///< of one group
};
struct Ue8m0Scale {
  static constexpr int kLanes = 64 / kCodesALane;
};

/// The largest finite magnitude of the values that kLanes lanes hold.
template <int kLanes>
__device__ float largest_of(const float (&values)[kCodesALane]) {
  float largest = 0;
#pragma unroll
  for (int i = 0; i < kCodesALane; ++i)
    if (isfinite(values[i])) largest = fmaxf(largest, fabsf(values[i]));
#pragma unroll
  for (int step = 1; step < kLanes; step *= 2) largest = fmaxf(largest, __shfl_xor_sync(~0u, largest, step));
  return largest;
}

/// The code of the smallest power of two that is no less than `scale`, a positive number.
__device__ std::uint32_t ue8m0_up(float scale) {
  const std::uint32_t bits = __float_as_uint(scale), exponent = bits >> 23, mantissa = bits & 0x7FFFFFu;
  if (exponent == 0) return mantissa > 0x400000u ? 1 : 0;  // subnormal: up to 2^-127 is code 0
  return min(exponent + (mantissa != 0 ? 1u : 0u), 254u);
}

/// 2^(code - 127), as a number of its own where that is subnormal.
__device__ float ue8m0_to_float(std::uint32_t code) {
  return __uint_as_float(code == 0 ? 0x400000u : code << 23);
}

/// Every lane of the first warp calls it, for the shuffles are the whole warp's; lanes past the nope part store
/// nothing.
template <class Scale>
__device__ void store_nope(const MlaAppendArgs& args, std::int64_t slot, std::int64_t from, std::int32_t lane) {
  const bool has_values = lane * kCodesALane < args.pool.nope();
  float values[kCodesALane] = {};
  if (has_values) device::load_floats(args.latent, Dtype::bf16, from + lane * kCodesALane, values);
  const float largest = largest_of<Scale::kLanes>(values);
  if (!has_values) return;
  float scale = largest == 0.0f ? 1.0f : __fdiv_rn(largest, 448.0f);
  std::byte* record = args.pool.data + args.pool.record_offset(slot);
  const bool leads = lane % Scale::kLanes == 0;
  const std::int32_t group = lane / Scale::kLanes;
  if constexpr (Scale::kLanes == Ue8m0Scale::kLanes) {
    const std::uint32_t code = ue8m0_up(scale);
    scale = ue8m0_to_float(code);
    auto* footer = reinterpret_cast<std::uint8_t*>(args.pool.data + args.pool.footer_offset(slot));
    if (leads) footer[group] = static_cast<std::uint8_t>(code);
    if (lane == 0) footer[7] = 0;
  } else {
    if (leads) reinterpret_cast<float*>(record + args.pool.nope())[group] = scale;
  }
#pragma unroll
  for (int i = 0; i < kCodesALane; ++i) values[i] = device::divide(values[i], scale);
  device::store_e4m3(record, lane * kCodesALane, values);
}

/// `count` values from element `from` of latent, as bf16.
__device__ void copy_values(const MlaAppendArgs& args, std::int64_t from, std::byte* to, std::int32_t count,
                            std::int32_t thread) {
  const std::int32_t at = thread * kValuesACopy;
  if (at < 0 || at >= count) return;
  float values[kValuesACopy];
  device::load_floats(args.latent, Dtype::bf16, from + at, values);
  device::store_floats(to, Dtype::bf16, at, values);
}

__global__ void __launch_bounds__(kThreads) mla_append_kernel(const MlaAppendArgs args) {
  const auto row = static_cast<std::int32_t>(blockIdx.x), thread = static_cast<std::int32_t>(threadIdx.x);
  if (row >= device::real_rows(args.batch)) return;
  const MlaPoolView& pool = args.pool;
  const std::int64_t slot = device::append_slot(args.batch, pool, row);
  if (slot == device::kNone) return;
  const std::int64_t from = std::int64_t{row} * pool.dim();
  std::byte* record = pool.data + pool.record_offset(slot);
  if (pool.record == MlaRecord::bf16) return copy_values(args, from, record, pool.dim(), thread);
  const bool fp32_scales = pool.record == MlaRecord::e4m3_656;
  const std::int64_t rope = pool.nope() + (fp32_scales ? 4 * std::int64_t{sizeof(float)} : 0);
  if (thread >= kWarp) return copy_values(args, from + pool.nope(), record + rope, kMlaRope, thread - kWarp);
  fp32_scales ? store_nope<Fp32Scale>(args, slot, from, thread) : store_nope<Ue8m0Scale>(args, slot, from, thread);
}

}  // namespace

void mla_append_launch(const MlaAppendArgs& args, void* stream) {
  static_assert((kMlaValueDim + kMlaRope) / kValuesACopy <= kThreads && kMlaValueDim / kCodesALane <= kWarp);
  assert(args.batch.bucket > 0 && args.pool.pages > 0 && args.pool.page_size > 0);
  assert(device::aligned16(args.pool.data, static_cast<const std::byte*>(args.latent)));
  mla_append_kernel<<<static_cast<unsigned>(args.batch.bucket), kThreads, 0, static_cast<cudaStream_t>(stream)>>>(args);
}

}  // namespace refrain
