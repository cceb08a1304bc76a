#include <limits>
#include <map>

#include "tests/catch.hpp"
#include "tests/kernels/decoder_cases.hpp"
#include "tests/kernels/numbers.hpp"

namespace refrain::test {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr std::int32_t kReal = 24, kBucket = 27;

/// Rows of normals, and rows where something special stands at random ids.
void fill_row(void* logits, Dtype dtype, std::int32_t row, std::int32_t vocab, Rng& rng) {
  const std::int64_t first = std::int64_t{row} * vocab;
  fill_normal(logits, dtype, first, vocab, 3, rng);
  const auto put = [&](double value) {
    store_from_float(logits, dtype, first + static_cast<std::int64_t>(rng() % static_cast<std::uint64_t>(vocab)),
                     static_cast<float>(value));
  };
  const auto fill = [&](float value) {
    for (std::int64_t i = 0; i < vocab; ++i) store_from_float(logits, dtype, first + i, value);
  };
  switch (row % 10) {
    case 0: put(NAN); break;
    case 1: put(-NAN); break;
    case 2: fill(-std::numeric_limits<float>::infinity()); break;
    case 3: put(kInf), put(kInf); break;
    case 4: put(100), put(100), put(100); break;
    case 5: fill(-0.0f), put(0); break;
    case 6: fill(-std::numeric_limits<float>::infinity()), put(-60'000); break;
    case 7: put(kInf), put(NAN); break;
    default: break;
  }
}

/// By a map from value to its lowest id; -1 where a NaN was met or -inf is the largest.
std::int32_t right_token(const void* logits, Dtype dtype, std::int32_t row, std::int32_t vocab) {
  std::map<double, std::int32_t> lowest;
  for (std::int32_t id = 0; id < vocab; ++id) {
    const double logit = load_as_float(logits, dtype, std::int64_t{row} * vocab + id);
    if (std::isnan(logit)) return -1;
    lowest.try_emplace(logit, id);
  }
  return lowest.rbegin()->first == -kInf ? -1 : lowest.rbegin()->second;
}

}  // namespace

void argmax_cases(const RunOp<ArgmaxArgs>& run) {
  Rng rng(fresh_seed());
  for (const Dtype dtype : {Dtype::fp32, Dtype::fp16, Dtype::bf16})
    for (const std::int32_t vocab : {1, 17, 1000, 4096, 4100, 32'003, 50'000}) {
      Memory memory;
      auto* logits = take_elements(memory, dtype, std::int64_t{kBucket} * vocab);
      auto* rows = memory.take<std::int32_t>(1);
      auto* tokens = memory.take<std::int32_t>(kBucket);
      for (std::int32_t row = 0; row < kBucket - 1; ++row) fill_row(logits, dtype, row, vocab, rng);
      for (const std::int32_t real : {kReal, kReal / 2, 0, -1}) {
        CAPTURE(vocab, real);
        *rows = real;
        run({.logits = logits, .rows = rows, .dtype = dtype, .bucket = kBucket, .vocab = vocab, .tokens = tokens},
            memory);
        for (std::int32_t row = 0; row < kBucket; ++row) {
          CAPTURE(row);
          REQUIRE(tokens[row] == (row < real ? right_token(logits, dtype, row, vocab) : -1));
        }
      }
    }
}

}  // namespace refrain::test
