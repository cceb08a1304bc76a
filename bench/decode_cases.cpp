#include "bench/decode_cases.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace refrain::bench {
namespace {

constexpr std::int64_t kRotated = 256'000'000;  ///< bytes read before a pool comes again: over 4 x 60 MB of L2

}  // namespace

std::string DecodeCase::name() const {
  const std::string kind = sparse ? fmt::format("qsa{}", kSelectedWidth) : fmt::format("ctx{}", context);
  return fmt::format("{}-gqa{}/{}-d{}-page{}-b{}-{}", to_string(dtype), heads, kv_heads, dim, page_size, batch, kind);
}

std::int32_t DecodeCase::pools() const {
  return static_cast<std::int32_t>(
      std::clamp<std::int64_t>((kRotated - 1) / std::max<std::int64_t>(kv_bytes(), 1) + 1, 1, kMostPools));
}

XqaSplitting splitting_of(const DecodeCase& c) {
  constexpr std::int32_t kMultiprocessors = 132;
  return balanced_splitting(c.batch, {.kv_heads = c.kv_heads, .dim = c.dim, .dtype = c.dtype},
                            static_cast<std::int32_t>(c.tokens()), kMultiprocessors);
}

XqaSplitting model_splitting_of(const DecodeCase& c) {
  const SplitRule rule{most_splits_of_row(c.kv_heads, c.dtype), kModelSplitTokens};
  return {.partition_tokens = rule.fewest_tokens,
          .partitions = splits_within(rule, static_cast<std::int32_t>(c.tokens())),
          .wide = has_wide_splits(c.kv_heads, c.dtype)};
}

std::vector<DecodeCase> decode_cases(Dtype dtype, bool quick) {
  std::vector<DecodeCase> cases;
  for (const std::int32_t batch : {1, 8, 16, 32, 64})
    for (const std::int32_t context : {1024, 4096, 8192, 32768, 131072})
      for (const std::int32_t heads : {32, 64})
        for (const std::int32_t page : {16, 64})
          if (!quick || (page == 16 && context <= 32768 && batch != 8))
            cases.push_back({batch, context, heads, 8, 128, page, dtype, false});
  // Context 8,195: 2,048 visible blocks of which 512 are selected, and a tail of 3 tokens.
  for (const std::int32_t batch : {16, 64}) cases.push_back({batch, 8195, 6, 1, 256, 32, dtype, true});
  return cases;
}

}  // namespace refrain::bench
