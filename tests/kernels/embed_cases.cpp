#include <climits>

#include "tests/catch.hpp"
#include "tests/kernels/decoder_cases.hpp"
#include "tests/kernels/numbers.hpp"

namespace refrain::test {
namespace {

constexpr std::int32_t kVocab = 37;

/// The table is random bits, so a copy that goes through a number changes some NaN.
void one_embed(const RunOp<EmbedArgs>& run, Dtype dtype, std::int32_t width, Rng& rng) {
  const std::vector<std::int32_t> ids = {3, 36, 0, -1, 37, INT_MIN, INT_MAX, 3, 17, 5, 6};  // the last two: pad rows
  const auto bucket = static_cast<std::int32_t>(ids.size());
  Memory memory;
  auto* table = memory.take<std::uint16_t>(std::int64_t{kVocab} * width);
  auto* given = memory.take<std::int32_t>(bucket);
  auto* rows = memory.take<std::int32_t>(1);
  auto* out = memory.take<std::uint16_t>(std::int64_t{bucket} * width);
  for (std::int32_t i = 0; i < kVocab * width; ++i) table[i] = static_cast<std::uint16_t>(rng());
  std::copy(ids.begin(), ids.end(), given);
  for (const std::int32_t real : {bucket - 2, bucket, bucket + 5, 1, 0, -3}) {
    *rows = real;
    CAPTURE(width, real);
    run({.ids = given,
         .rows = rows,
         .table = table,
         .dtype = dtype,
         .bucket = bucket,
         .vocab = kVocab,
         .width = width,
         .out = out},
        memory);
    for (std::int32_t row = 0; row < bucket; ++row) {
      CAPTURE(row);
      const std::int32_t id = ids[static_cast<std::size_t>(row)];
      const bool token = row < real && id >= 0 && id < kVocab;
      for (std::int32_t d = 0; d < width; ++d) REQUIRE(out[row * width + d] == (token ? table[id * width + d] : 0));
    }
  }
}

}  // namespace

void embed_cases(const RunOp<EmbedArgs>& run) {
  Rng rng(fresh_seed());
  for (const Dtype dtype : kHalves)
    for (const std::int32_t width : {1, 7, 8, 24, 1001, 4104}) one_embed(run, dtype, width, rng);
}

}  // namespace refrain::test
