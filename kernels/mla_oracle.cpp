#include "kernels/mla_oracle.hpp"

#include <cassert>
#include <cmath>
#include <cstring>

namespace refrain {
namespace {

constexpr std::size_t kValues = 512, kRope = 64;

double decode_bf16(const std::byte* from) {
  std::uint16_t bits = 0;
  std::memcpy(&bits, from, 2);
  const int exponent = bits >> 7 & 0xFF, mantissa = bits & 0x7F;
  const double sign = bits >> 15 != 0 ? -1.0 : 1.0;
  if (exponent == 255) return mantissa == 0 ? sign * HUGE_VAL : std::nan("");
  return sign * (exponent == 0 ? std::ldexp(mantissa, -133) : std::ldexp(128 + mantissa, exponent - 134));
}

double decode_e4m3(std::byte byte) {
  const int bits = std::to_integer<int>(byte), exponent = bits >> 3 & 15, mantissa = bits & 7;
  if ((bits & 127) == 127) return std::nan("");
  const double magnitude = exponent == 0 ? std::ldexp(mantissa, -9) : std::ldexp(8 + mantissa, exponent - 10);
  return bits >= 128 ? -magnitude : magnitude;
}

double decode_ue8m0(std::byte byte) {
  const int bits = std::to_integer<int>(byte);
  return bits == 255 ? std::nan("") : std::ldexp(1.0, bits - 127);
}

double decode_fp32(const std::byte* from) {
  float value = 0;
  std::memcpy(&value, from, 4);
  return value;
}

std::vector<double> decode_bf16s(const std::byte* from, std::size_t count) {
  std::vector<double> values;
  for (std::size_t i = 0; i < count; ++i) values.push_back(decode_bf16(from + 2 * i));
  return values;
}

/// 512 codes, a scale a 128 of them, and the rope.
std::vector<double> decode_656(const std::byte* record) {
  std::vector<double> values;
  for (std::size_t i = 0; i < 512; ++i)
    values.push_back(decode_e4m3(record[i]) * decode_fp32(record + 512 + i / 128 * 4));
  for (const double value : decode_bf16s(record + 528, kRope)) values.push_back(value);
  return values;
}

/// 448 codes and the rope in the page's data part, a scale a 64 codes in its footer. The page ends on a multiple of
/// 576 bytes.
std::vector<double> decode_584(const std::byte* pool, std::int64_t tokens_a_page, std::int64_t slot) {
  const std::int64_t stride = (tokens_a_page * 584 + 575) / 576 * 576, token = slot % tokens_a_page;
  const std::byte* page = pool + slot / tokens_a_page * stride;
  const std::byte* record = page + token * 576;
  const std::byte* scales = page + tokens_a_page * 576 + token * 8;
  std::vector<double> values;
  for (std::size_t i = 0; i < 448; ++i) values.push_back(decode_e4m3(record[i]) * decode_ue8m0(scales[i / 64]));
  for (const double value : decode_bf16s(record + 448, kRope)) values.push_back(value);
  return values;
}

struct Attended {
  double max = -HUGE_VAL, lse = -HUGE_VAL;
};

Attended attend(const std::vector<std::vector<double>>& records, const std::vector<double>& q, double scale,
                double sink, double* out) {
  std::vector<double> scores;
  Attended result;
  for (const std::vector<double>& record : records) {
    double dot = 0;
    for (std::size_t d = 0; d < q.size(); ++d) dot += q[d] * record[d];
    scores.push_back(dot * scale);
    result.max = std::fmax(result.max, scores.back());
  }
  const double top = std::fmax(result.max, sink);
  if (top == -HUGE_VAL) return result;
  double sum = std::exp(sink - top);
  for (std::size_t i = 0; i < records.size(); ++i) {
    const double p = std::exp(scores[i] - top);
    for (std::size_t d = 0; d < kValues; ++d) out[d] += p * records[i][d];
    sum += p;
  }
  for (std::size_t d = 0; d < kValues; ++d) out[d] /= sum;
  result.lse = top + std::log(sum);
  return result;
}

}  // namespace

std::vector<double> mla_oracle_record(const MlaPoolView& pool, std::int64_t slot) {
  assert(slot >= 0 && slot < pool.pages * pool.page_size);
  if (pool.record == MlaRecord::bf16) return decode_bf16s(pool.data + slot * 1152, 576);
  if (pool.record == MlaRecord::e4m3_656) return decode_656(pool.data + slot * 656);
  return decode_584(pool.data, pool.page_size, slot);
}

MlaOracleResult mla_oracle(const MlaProblem& problem, std::span<const MlaOracleRow> rows) {
  const auto heads = static_cast<std::size_t>(problem.heads);
  const std::size_t dim = problem.pool.record == MlaRecord::e4m3_584 ? 512 : 576;
  MlaOracleResult result;
  result.out.resize(rows.size() * heads * kValues);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    std::vector<std::vector<double>> records;
    for (const std::int64_t slot : rows[i].slots) records.push_back(mla_oracle_record(problem.pool, slot));
    const std::byte* q =
        static_cast<const std::byte*>(problem.q) + static_cast<std::size_t>(rows[i].row) * heads * dim * 2;
    for (std::size_t head = 0; head < heads; ++head) {
      const double sink = problem.sinks == nullptr ? -HUGE_VAL : double{problem.sinks[head]};
      const Attended attended = attend(records, decode_bf16s(q + head * dim * 2, dim), problem.softmax_scale, sink,
                                       result.out.data() + (i * heads + head) * kValues);
      result.lse.push_back(attended.lse);
      result.max_logits.push_back(attended.max);
    }
  }
  return result;
}

}  // namespace refrain
