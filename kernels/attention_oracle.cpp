#include "kernels/attention_oracle.hpp"

#include <cassert>
#include <cmath>
#include <cstring>
#include <limits>

namespace refrain {
namespace {

/// A small float by its definition: sign, `exponent_bits`, `mantissa_bits`; bias 2^(e-1) - 1.
double decode(std::uint32_t bits, int exponent_bits, int mantissa_bits, bool has_inf) {
  const int top = (1 << exponent_bits) - 1, bias = top / 2;
  const int exponent = static_cast<int>(bits >> mantissa_bits) & top;
  const int mantissa = static_cast<int>(bits) & ((1 << mantissa_bits) - 1);
  const double sign = (bits >> (exponent_bits + mantissa_bits) & 1u) != 0 ? -1.0 : 1.0;
  if (exponent == top) {
    if (has_inf) return mantissa == 0 ? sign * HUGE_VAL : std::nan("");
    if (mantissa == (1 << mantissa_bits) - 1) return std::nan("");
  }
  if (exponent == 0) return sign * std::ldexp(mantissa, 1 - bias - mantissa_bits);
  return sign * std::ldexp(mantissa + (1 << mantissa_bits), exponent - bias - mantissa_bits);
}

/// Every code of a dtype, decoded once a problem.
std::vector<double> decode_table(Dtype dtype) {
  std::vector<double> table(dtype == Dtype::e4m3 ? 256 : 65536);
  for (std::uint32_t bits = 0; bits < table.size(); ++bits) {
    if (dtype == Dtype::e4m3) table[bits] = decode(bits, 4, 3, false);
    if (dtype == Dtype::fp16) table[bits] = decode(bits, 5, 10, true);
    if (dtype == Dtype::bf16) table[bits] = decode(bits, 8, 7, true);
  }
  return table;
}

struct Decoder {
  const void* data;
  bool one_byte;
  std::vector<double> table;

  Decoder(const void* from, Dtype dtype) : data(from), one_byte(dtype == Dtype::e4m3), table(decode_table(dtype)) {}

  [[nodiscard]] double operator[](std::int64_t index) const {
    if (one_byte) return table[static_cast<const std::uint8_t*>(data)[index]];
    std::uint16_t bits = 0;
    std::memcpy(&bits, static_cast<const std::byte*>(data) + 2 * index, 2);
    return table[bits];
  }
};

/// Element offset of a token's K row.
std::int64_t k_row(const KvPoolView& pool, const OracleRow& row, std::int64_t token, std::int64_t kv_head) {
  const auto entry = static_cast<std::size_t>(token / pool.page_size);
  assert(token >= 0 && entry < row.page_table.size());
  const std::int64_t page = row.page_table[entry];
  assert(page >= 1 && page < pool.pages);
  const std::int64_t plane = std::int64_t{pool.page_size} * pool.kv_heads * pool.dim;
  return page * 2 * plane + (token % pool.page_size * pool.kv_heads + kv_head) * pool.dim;
}

void attend(const OracleProblem& problem, const Decoder& queries, const Decoder& cache, const OracleRow& row,
            std::int64_t head, double* out, double* lse) {
  const KvPoolView& pool = problem.pool;
  const std::int64_t kv_head = head / (problem.heads / pool.kv_heads);
  const std::int64_t q = (std::int64_t{row.row} * problem.heads + head) * pool.dim;
  const std::int64_t plane = std::int64_t{pool.page_size} * pool.kv_heads * pool.dim;
  std::vector<double> scores;
  double max = -HUGE_VAL, sum = 0;
  for (const std::int64_t token : row.tokens) {
    const std::int64_t k = k_row(pool, row, token, kv_head);
    double dot = 0;
    for (std::int64_t d = 0; d < pool.dim; ++d) dot += queries[q + d] * cache[k + d];
    scores.push_back(dot * problem.softmax_scale * problem.k_scale);
    max = std::fmax(max, scores.back());
  }
  for (std::size_t i = 0; i < row.tokens.size(); ++i) {
    const double p = std::exp(scores[i] - max);
    const std::int64_t v = k_row(pool, row, row.tokens[i], kv_head) + plane;
    for (std::int64_t d = 0; d < pool.dim; ++d) out[d] += p * cache[v + d];
    sum += p;
  }
  if (row.tokens.empty()) return;
  for (std::int64_t d = 0; d < pool.dim; ++d) out[d] *= problem.v_scale / sum;
  *lse = max + std::log(sum);
}

}  // namespace

OracleResult attention_oracle(const OracleProblem& problem, std::span<const OracleRow> rows) {
  const auto heads = static_cast<std::size_t>(problem.heads), dim = static_cast<std::size_t>(problem.pool.dim);
  OracleResult result;
  result.out.resize(rows.size() * heads * dim);
  result.lse.assign(rows.size() * heads, -HUGE_VAL);
  const Decoder queries(problem.q, problem.q_dtype), cache(problem.pool.data, problem.pool.dtype);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    assert(rows[i].row >= 0 && rows[i].row < problem.rows);
    for (std::size_t head = 0; head < heads; ++head) {
      const std::size_t at = i * heads + head;
      attend(problem, queries, cache, rows[i], static_cast<std::int64_t>(head), result.out.data() + at * dim,
             &result.lse[at]);
    }
  }
  return result;
}

}  // namespace refrain
