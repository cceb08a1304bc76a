#include "kernels/host_tile.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/codec.hpp"

namespace refrain {
namespace {

constexpr float kNegativeInf = -std::numeric_limits<float>::infinity();

/// Dot products in dim order, one lane a token.
void score_tile(const float* q, const HostTile& tile, float scale, float* scores) {
  float lanes[kTileTokens] = {};
  const float* k = tile.k_transposed();
  for (std::int32_t d = 0; d < tile.dim(); ++d, k += kTileTokens) {
    const float value = q[d];
    for (std::int32_t r = 0; r < kTileTokens; ++r) lanes[r] += value * k[r];
  }
  for (std::int32_t r = 0; r < kTileTokens; ++r) scores[r] = lanes[r] * scale;
}

float round_to(Dtype dtype, float value) noexcept {
  return dtype == Dtype::bf16 ? bf16_to_float(float_to_bf16(value)) : fp16_to_float(float_to_fp16(value));
}

constexpr std::int32_t kBlock = 32;  // accumulator values that stay in registers over the 32 tokens

void accumulate_block(float* acc, const float* v, std::int32_t stride, const float* p) {
  float sums[kBlock];
  std::copy_n(acc, kBlock, sums);
  for (std::int32_t r = 0; r < kTileTokens; ++r, v += stride) {
    const float weight = p[r];
    for (std::int32_t i = 0; i < kBlock; ++i) sums[i] += weight * v[i];
  }
  std::copy_n(sums, kBlock, acc);
}

}  // namespace

HostTile::HostTile(std::int32_t dim)
    : dim_(dim),
      k_(static_cast<std::size_t>(dim) * kTileTokens),
      v_(static_cast<std::size_t>(dim) * kTileTokens),
      row_(static_cast<std::size_t>(dim)) {}

void HostTile::load(std::int32_t r, const KvPoolView& pool, std::int64_t k_offset) {
  decode_to_float(pool.data, pool.dtype, k_offset, dim_, row_.data());
  for (std::int32_t d = 0; d < dim_; ++d)
    k_[static_cast<std::size_t>(std::int64_t{d} * kTileTokens + r)] = row_[static_cast<std::size_t>(d)];
  decode_to_float(pool.data, pool.dtype, k_offset + pool.plane_elements(), dim_, v_row(r));
}

void HostTile::clear(std::int32_t r) {
  for (std::int32_t d = 0; d < dim_; ++d) k_[static_cast<std::size_t>(std::int64_t{d} * kTileTokens + r)] = 0;
  std::fill_n(v_row(r), dim_, 0.0f);
}

void softmax_tile(SoftmaxRow& row, const float* q, const HostTile& tile, float scale, std::uint32_t attended,
                  Dtype p_dtype, float* p) {
  if (attended == 0) {
    std::fill_n(p, kTileTokens, 0.0f);
    return;
  }
  float scores[kTileTokens];
  score_tile(q, tile, scale, scores);
  float max = row.max;
  for (std::int32_t r = 0; r < kTileTokens; ++r)
    if (attended >> r & 1u) max = std::fmax(max, scores[r]);
  const float base = max == kNegativeInf ? 0.0f : max;  // -inf - -inf is NaN; from 0 every p is 0
  const float rescale = std::exp(row.max - base);
  float sum = 0;
  for (std::int32_t r = 0; r < kTileTokens; ++r) {
    p[r] = attended >> r & 1u ? round_to(p_dtype, std::exp(scores[r] - base)) : 0.0f;
    sum += p[r];
  }
  row.max = max;
  row.sum = row.sum * rescale + sum;
  if (rescale == 1.0f) return;
  for (std::int32_t d = 0; d < tile.dim(); ++d) row.acc[d] *= rescale;
}

void accumulate_tile(SoftmaxRow& row, const HostTile& tile, const float* p) {
  const std::int32_t dim = tile.dim(), whole = dim / kBlock * kBlock;
  for (std::int32_t d = 0; d < whole; d += kBlock) accumulate_block(row.acc + d, tile.v() + d, dim, p);
  for (std::int32_t r = 0; whole < dim && r < kTileTokens; ++r)
    for (std::int32_t d = whole; d < dim; ++d) row.acc[d] += p[r] * tile.v()[r * dim + d];
}

// A max of -inf needs no case of its own: its sum is 0 (LSE -inf) or NaN (LSE NaN).
float natural_lse(const SoftmaxRow& row) noexcept {
  return row.max + std::log(row.sum);
}

}  // namespace refrain
