#include "tests/catch.hpp"
#include "tests/kernels/decoder_cases.hpp"
#include "tests/kernels/logit_rows.hpp"

namespace refrain::test {
void argmax_cases(const RunOp<ArgmaxArgs>& run) {
  constexpr std::int32_t kReal = 24, kBucket = 27;
  Rng rng(fresh_seed());
  for (const Dtype dtype : {Dtype::fp32, Dtype::fp16, Dtype::bf16})
    for (const std::int32_t vocab : {1, 17, 1000, 4096, 4100, 32'003, 50'000}) {
      Memory memory;
      auto* logits = take_elements(memory, dtype, std::int64_t{kBucket} * vocab);
      auto* rows = memory.take<std::int32_t>(1);
      auto* tokens = memory.take<std::int32_t>(kBucket);
      for (std::int32_t row = 0; row < kBucket - 1; ++row) fill_logits(logits, dtype, row, vocab, rng);
      for (const std::int32_t real : {kReal, kReal / 2, 0, -1}) {
        CAPTURE(vocab, real);
        *rows = real;
        run({.logits = logits, .rows = rows, .dtype = dtype, .bucket = kBucket, .vocab = vocab, .tokens = tokens},
            memory);
        for (std::int32_t row = 0; row < kBucket; ++row) {
          CAPTURE(row);
          REQUIRE(tokens[row] == (row < real ? right_argmax(logits, dtype, row, vocab) : -1));
        }
      }
    }
}

}  // namespace refrain::test
