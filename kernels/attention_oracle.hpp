// What attention should give, in fp64, by a plain sum over decoded K and V of
// the tokens that a row attends. For tests and error figures only; it shares no
// code with the twins or the kernels (its decoders are its own).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "graphs/contract.hpp"
#include "kernels/kv_pool_view.hpp"

namespace refrain {

struct OracleProblem {
  const void* q = nullptr;  ///< [rows, heads, dim], `q_dtype`
  Dtype q_dtype = Dtype::fp16;
  KvPoolView pool;
  std::int32_t rows = 0, heads = 0;
  double k_scale = 1, v_scale = 1, softmax_scale = 1;
};

struct OracleRow {
  std::int32_t row = 0;
  std::vector<std::int64_t> tokens;          ///< logical tokens attended, each once
  std::span<const std::int32_t> page_table;  ///< of the row's request
};

struct OracleResult {
  std::vector<double> out;  ///< [rows given, heads, dim]; zeros for a row without tokens
  std::vector<double> lse;  ///< [rows given, heads]; -inf for a row without tokens
};

[[nodiscard]] OracleResult attention_oracle(const OracleProblem& problem, std::span<const OracleRow> rows);

}  // namespace refrain
