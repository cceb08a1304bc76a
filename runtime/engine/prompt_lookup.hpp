// Drafts without a draft model: what followed the last time that the end of a sequence
// stood in it before. It proposes, and the target model disposes: a bad draft costs rows
// of a step and never a token.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

namespace refrain {

class PromptLookup {
 public:
  /// After each token that `tokens` grew by; the same sequence every time.
  void grown(std::span<const std::int32_t> tokens);
  /// Up to `most` tokens that followed the longest end of `tokens` that was seen before, at its most recent place;
  /// empty when none was.
  [[nodiscard]] std::vector<std::int32_t> draft(std::span<const std::int32_t> tokens, std::int32_t most) const;

 private:
  static constexpr std::size_t kShortest = 2, kLongest = 4;
  /// By hash of n tokens: where the token after their last occurrence stands. Hashes may collide; draft() compares.
  std::array<std::unordered_map<std::uint64_t, std::size_t>, kLongest - kShortest + 1> after_;
};

}  // namespace refrain
