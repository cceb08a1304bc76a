// Rows of logits for the ops that judge them: normals, and rows where something
// special stands at random ids. And the right argmax of one, by a map.
#pragma once

#include <limits>
#include <map>

#include "tests/kernels/numbers.hpp"

namespace refrain::test {

inline void fill_logits(void* logits, Dtype dtype, std::int32_t row, std::int32_t vocab, Rng& rng) {
  constexpr float kInf = std::numeric_limits<float>::infinity(), kNan = std::numeric_limits<float>::quiet_NaN();
  const std::int64_t first = std::int64_t{row} * vocab;
  fill_normal(logits, dtype, first, vocab, 3, rng);
  const auto put = [&](float value) {
    const auto id = static_cast<std::int64_t>(rng() % static_cast<std::uint64_t>(vocab));
    store_from_float(logits, dtype, first + id, value);
  };
  const auto fill = [&](float value) {
    for (std::int64_t i = 0; i < vocab; ++i) store_from_float(logits, dtype, first + i, value);
  };
  switch (row % 10) {
    case 0: put(kNan); break;
    case 1: put(-kNan); break;
    case 2: fill(-kInf); break;
    case 3: put(kInf), put(kInf); break;
    case 4: put(100), put(100), put(100); break;
    case 5: fill(-0.0f), put(0); break;
    case 6: fill(-kInf), put(-60'000), put(-60'000); break;
    case 7: put(kInf), put(kNan); break;
    default: break;
  }
}

/// -1 where a NaN was met or -inf is the largest.
inline std::int32_t right_argmax(const void* logits, Dtype dtype, std::int32_t row, std::int32_t vocab) {
  std::map<double, std::int32_t> lowest;
  for (std::int32_t id = 0; id < vocab; ++id) {
    const double logit = load_as_float(logits, dtype, std::int64_t{row} * vocab + id);
    if (std::isnan(logit)) return -1;
    lowest.try_emplace(logit, id);
  }
  const auto largest = *lowest.rbegin();
  return largest.first == -std::numeric_limits<double>::infinity() ? -1 : largest.second;
}

}  // namespace refrain::test
