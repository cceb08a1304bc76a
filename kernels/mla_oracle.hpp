// What sparse MLA should give, in fp64, by a plain sum over the decoded records
// that a row attends. For tests and error figures only; it shares no code with the
// twins or the kernels: the three record formats are decoded here by themselves,
// and of a pool's view it takes the data, the page size and the format, no offset.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/mla_pool_view.hpp"

namespace refrain {

struct MlaProblem {
  const void* q = nullptr;  ///< [rows, heads, dim] bf16
  MlaPoolView pool;
  std::int32_t heads = 0;
  double softmax_scale = 1;
  const float* sinks = nullptr;  ///< [heads] or null
};

struct MlaOracleRow {
  std::int32_t row = 0;             ///< of q
  std::vector<std::int64_t> slots;  ///< attended; one that stands twice counts twice
};

struct MlaOracleResult {
  std::vector<double> out;         ///< [rows given, heads, 512]; zeros for a row without slots
  std::vector<double> lse;         ///< [rows given, heads]: natural, the sink in it; -inf where there is neither
  std::vector<double> max_logits;  ///< [rows given, heads]: the sink not in it; -inf without slots
};

/// A record's values: 576, or 512 for e4m3_584.
[[nodiscard]] std::vector<double> mla_oracle_record(const MlaPoolView& pool, std::int64_t slot);

[[nodiscard]] MlaOracleResult mla_oracle(const MlaProblem& problem, std::span<const MlaOracleRow> rows);

}  // namespace refrain
