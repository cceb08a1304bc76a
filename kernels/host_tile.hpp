// What the attention twins share: 32 tokens of K and V as fp32, and the online
// softmax over such a tile. Masking is by predicate (`attended`, a bit a token),
// never by a sentinel in the sum. It rounds where the MMA kernels round: P to the
// query dtype, everything else fp32.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "kernels/kv_pool_view.hpp"

namespace refrain {

inline constexpr std::int32_t kTileTokens = 32;

/// K is kept transposed, so that a score loop runs over tokens without a reduction.
class HostTile {
 public:
  explicit HostTile(std::int32_t dim);

  /// Decodes one token's K and V rows into place `r`; `k_offset` as in KvPoolView.
  void load(std::int32_t r, const KvPoolView& pool, std::int64_t k_offset);
  /// Place `r` enters the products as zeros.
  void clear(std::int32_t r);

  [[nodiscard]] std::int32_t dim() const noexcept { return dim_; }
  [[nodiscard]] const float* k_transposed() const noexcept { return k_.data(); }  ///< [dim, 32]
  [[nodiscard]] const float* v() const noexcept { return v_.data(); }             ///< [32, dim]
  [[nodiscard]] float* v_row(std::int32_t r) noexcept { return v_.data() + std::int64_t{r} * dim_; }

 private:
  std::int32_t dim_;
  std::vector<float> k_, v_, row_;
};

/// One output row on its way: the running max, the sum of the rounded p, and the accumulator of `dim` values.
struct SoftmaxRow {
  float max = -std::numeric_limits<float>::infinity();
  float sum = 0;
  float* acc = nullptr;
};

/// Scores one query row against the tile, updates max and sum, and leaves p (rounded, 0 where not attended)
/// in `p[32]`; the accumulator is re-scaled to the new max, not yet added to. A NaN score of an attended
/// token makes p and sum NaN; of an unattended one it does nothing.
void softmax_tile(SoftmaxRow& row, const float* q, const HostTile& tile, float scale, std::uint32_t attended,
                  Dtype p_dtype, float* p);

/// acc += p @ V over all 32 tokens, zeros of p included: 0 * NaN is NaN here as it is in an MMA.
void accumulate_tile(SoftmaxRow& row, const HostTile& tile, const float* p);

/// Natural LSE; -inf for a row whose every score was -inf.
[[nodiscard]] float natural_lse(const SoftmaxRow& row) noexcept;

}  // namespace refrain
