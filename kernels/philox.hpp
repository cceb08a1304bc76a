// Philox 4x32 with ten rounds: 128 random bits that are a function of a counter
// and a key and of nothing else, so a replayed graph draws anew when a number in
// memory moves on. Salmon et al., "Parallel random numbers: as easy as 1, 2, 3",
// SC 2011. Plain constexpr arithmetic: the same bits on host and device.
#pragma once

#include <cstdint>

namespace refrain {

struct PhiloxCounter {
  std::uint32_t words[4];
};
struct PhiloxKey {
  std::uint32_t words[2];
};

[[nodiscard]] constexpr PhiloxCounter philox4x32_10(PhiloxCounter counter, PhiloxKey key) noexcept {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t even = std::uint64_t{0xD2511F53} * counter.words[0];
    const std::uint64_t odd = std::uint64_t{0xCD9E8D57} * counter.words[2];
    counter = {
        {static_cast<std::uint32_t>(odd >> 32) ^ counter.words[1] ^ key.words[0], static_cast<std::uint32_t>(odd),
         static_cast<std::uint32_t>(even >> 32) ^ counter.words[3] ^ key.words[1], static_cast<std::uint32_t>(even)}};
    key.words[0] += 0x9E3779B9;
    key.words[1] += 0xBB67AE85;
  }
  return counter;
}

/// The upper 24 bits as a float in [0, 1), exactly.
[[nodiscard]] constexpr float uniform_of(std::uint32_t bits) noexcept {
  return static_cast<float>(bits >> 8) * 0x1p-24f;
}

}  // namespace refrain
