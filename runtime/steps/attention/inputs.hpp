// Everything that one step reads, made from a seed on the host: queries, new
// K/V rows, the batch tables, the selection, and the pool with its history.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/kv_pool_view.hpp"
#include "runtime/steps/options.hpp"

namespace refrain {

/// Arrays are as the ops take them (kernels/*.hpp); pad rows hold -1 in the tables and zeros in q, k, v.
struct AttentionInputs {
  std::vector<std::int32_t> rows;          ///< [1]
  std::vector<std::int32_t> token_to_req;  ///< [bucket]
  std::vector<std::int64_t> query_pos;     ///< [bucket]
  std::vector<std::int32_t> seq_len;       ///< [requests]
  std::vector<std::int32_t> page_table;    ///< [requests, pages_per_request]; -1 past the length
  std::vector<std::int32_t> selected;      ///< [bucket, kSelectedWidth]
  std::vector<std::byte> q;                ///< [bucket, heads, dim], q_dtype: N(0, 1)
  std::vector<std::byte> k, v;             ///< [bucket, 1, dim], q_dtype: N(0, 1) and N(0, 0.25^2)
  std::vector<float> scales;               ///< [2]: K, V
  std::vector<std::byte> pool;             ///< history of every request; the rest zeros
  std::int32_t pages_per_request = 0;
};

/// Pages that a request's tokens fill, and the pool's shape: the null block, those pages, and two that nobody owns.
[[nodiscard]] std::int32_t pages_used(const StepOptions& options);
[[nodiscard]] KvPoolView pool_shape(const StepOptions& options);

/// `pages[request][i]` is the physical page of the request's i-th page.
/// `scales` (K, V) divide what goes into an E4M3 pool.
[[nodiscard]] AttentionInputs make_inputs(const StepOptions& options,
                                          const std::vector<std::vector<std::int32_t>>& pages,
                                          std::array<float, 2> scales = {1.0f, 1.0f});

/// The logical tokens that a real row attends: its selected blocks and its causal tail.
[[nodiscard]] std::vector<std::int64_t> attended_tokens(const AttentionInputs& inputs, std::int32_t row);

}  // namespace refrain
