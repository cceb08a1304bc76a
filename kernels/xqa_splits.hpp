// How many tokens a split of xqa_decode covers: a matter of the row's own length
// alone, so that its bits are the same in every batch and bucket and whoever its
// neighbours are. Said once, for planner, kernel, their twins and who makes room for
// partials. Rows up to most_splits * fewest_tokens are cut every fewest_tokens; longer
// ones into so few and so equal splits that none needs more than most_splits.
#pragma once

#include <algorithm>
#include <cstdint>

#include "graphs/contract.hpp"

namespace refrain {

/// Longer splits are whole multiples of it. It is the largest stage of a warp (device::XqaShape::kTokens), so that
/// stages are cut short in a row's last split alone. A whole turn of a block's warps would be up to 384 tokens: that
/// coarse, a row just past most_splits * fewest_tokens would fall to half the splits.
inline constexpr std::uint32_t kSplitGranule = 32;

struct SplitRule {
  std::int32_t most_splits = 0, fewest_tokens = 0;  ///< both at least 1

  /// Of each split but the last, which has the rest; at most 2^31, so not an int32. `length` >= 0.
  [[nodiscard]] constexpr std::uint32_t tokens(std::int32_t length) const noexcept {
    const auto all = static_cast<std::uint32_t>(length), most = static_cast<std::uint32_t>(most_splits);
    const auto fewest = static_cast<std::uint32_t>(fewest_tokens);
    if (std::uint64_t{most} * fewest >= all) return fewest;
    const std::uint32_t each = (all - 1) / most + 1;  // over fewest, so rounding up cannot end below it
    return (each + kSplitGranule - 1) / kSplitGranule * kSplitGranule;
  }
  /// Of a row: at most `most_splits`, and 0 where it has no token. Not monotonic: a row a token longer may have fewer.
  [[nodiscard]] constexpr std::int32_t splits(std::int32_t length) const noexcept {
    const std::uint32_t each = tokens(length);
    return static_cast<std::int32_t>((static_cast<std::uint32_t>(length) + each - 1) / each);
  }
};

// Where a row's bits must be its request's, neither the device decides, nor batch or context limit, but the model. The
// shares below are of a grid over splits and blocks on an H200 that no bench repeats; `model_layer_us` of bench decode
// shows what came of it.

/// Whether a model's blocks are wide. With eight KV heads over 16 bits narrow ones, two of which hide each other's
/// beginnings and ends, give a full device up to 12 % and cost one row alone some 2 us; over E4M3 wide ones would cost
/// a full device a third. Fewer KV heads were not measured: their blocks are few, and wide ones are one row's best.
[[nodiscard]] constexpr bool has_wide_splits(std::int32_t kv_heads, Dtype kv) noexcept {
  return kv != Dtype::e4m3 && kv_heads < 8;
}

/// The most splits of a model's row. One row's blocks then fill 132 multiprocessors about once, over E4M3 with two on
/// each (over 16 bits a full device would lose 2 to 3 % to twice as many): at most 128, for one block merges them all,
/// and at least 8, lest a row far longer than its neighbours end long behind them.
[[nodiscard]] constexpr std::int32_t most_splits_of_row(std::int32_t kv_heads, Dtype kv) noexcept {
  constexpr std::int32_t kMultiprocessors = 132, kFewest = 8, kMost = 128;
  return std::clamp(kMultiprocessors * (kv == Dtype::e4m3 ? 2 : 1) / kv_heads, kFewest, kMost);
}

/// The fewest tokens of a split. What begins and ends a block costs as much as some hundred tokens; so few splits cost
/// a short row alone on the device more than they save.
inline constexpr std::int32_t kModelSplitTokens = 1024;

/// Splits to make room for, when no row is longer than `context` (at least 1).
[[nodiscard]] constexpr std::int32_t splits_within(const SplitRule& rule, std::int32_t context) noexcept {
  return std::min(rule.most_splits, (context - 1) / rule.fewest_tokens + 1);
}

}  // namespace refrain
