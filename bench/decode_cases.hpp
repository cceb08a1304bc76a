// The shapes that bench_decode measures, by name, and how each is split.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "graphs/contract.hpp"
#include "kernels/xqa_decode.hpp"

namespace refrain::bench {

inline constexpr std::int32_t kMostPools = 128;

struct DecodeCase {
  std::int32_t batch = 0, context = 0, heads = 0, kv_heads = 0, dim = 0, page_size = 0;
  Dtype dtype = Dtype::fp16;
  bool sparse = false;

  [[nodiscard]] std::string name() const;  ///< `bf16-gqa32/8-d128-page16-b32-ctx8192`
  [[nodiscard]] std::int64_t pages_per_request() const { return (context + page_size - 1) / page_size; }
  [[nodiscard]] std::int64_t pages() const { return 1 + batch * pages_per_request(); }
  [[nodiscard]] std::int64_t token_bytes() const {
    return 2 * std::int64_t{kv_heads} * dim * static_cast<std::int64_t>(dtype_bytes(dtype));
  }
  [[nodiscard]] std::int64_t pool_bytes() const { return pages() * page_size * token_bytes(); }
  [[nodiscard]] std::int64_t tokens() const { return sparse ? kSelectedWidth : context; }
  [[nodiscard]] std::int64_t kv_bytes() const { return batch * tokens() * token_bytes(); }
  /// How many pools in turn make every read come from memory; at most kMostPools.
  [[nodiscard]] std::int32_t pools() const;
};

/// Every case of a dtype: dense GQA, then QSA's sparse selection. `quick`: a few of them.
[[nodiscard]] std::vector<DecodeCase> decode_cases(Dtype dtype, bool quick);

/// On the 132 multiprocessors of an H200.
[[nodiscard]] XqaSplitting splitting_of(const DecodeCase& c);

/// What LlamaModel has for rows of the case (kernels/xqa_splits.hpp): from the row's length and the model alone.
[[nodiscard]] XqaSplitting model_splitting_of(const DecodeCase& c);

}  // namespace refrain::bench
