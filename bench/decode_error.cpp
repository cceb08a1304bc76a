#include "bench/decode_error.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "bench/gpu_bench.hpp"
#include "kernels/codec.hpp"

namespace refrain::bench {
namespace {

std::vector<std::byte> read_back(const void* from, std::uint64_t bytes) {
  std::vector<std::byte> out(bytes);
  check(cudaMemcpy(out.data(), from, bytes, cudaMemcpyDeviceToHost), "cudaMemcpy");
  return out;
}

/// K and V rows of KV head 0, [context, 2, dim].
std::vector<float> rows_of(const XqaDecodeArgs& args, std::int32_t request, std::int32_t context) {
  const KvPoolView& pool = args.pool;
  const std::int64_t pages = (context + pool.page_size - 1) / pool.page_size;
  const std::vector<std::byte> table =
      read_back(args.batch.page_table + std::int64_t{request} * args.batch.pages_per_request, pages * 4);
  std::vector<float> rows(static_cast<std::size_t>(context) * 2 * static_cast<std::size_t>(pool.dim));
  for (std::int32_t token = 0; token < context; token += pool.page_size) {
    std::int64_t page = reinterpret_cast<const std::int32_t*>(table.data())[token / pool.page_size];
    const std::vector<std::byte> bytes = read_back(pool.data + page * pool.page_bytes(), pool.page_bytes());
    for (std::int32_t t = 0; t < std::min(pool.page_size, context - token); ++t)
      for (int plane = 0; plane < 2; ++plane)
        decode_to_float(bytes.data(), pool.dtype, pool.k_offset(0, t, 0) + plane * pool.plane_elements(), pool.dim,
                        rows.data() + (std::int64_t{token + t} * 2 + plane) * pool.dim);
  }
  return rows;
}

std::vector<double> attend(const float* q, const std::vector<float>& rows, std::int32_t context, std::int32_t dim,
                           double scale) {
  std::vector<double> scores(static_cast<std::size_t>(context)), out(static_cast<std::size_t>(dim));
  for (std::int32_t t = 0; t < context; ++t) {
    double dot = 0;
    for (std::int32_t d = 0; d < dim; ++d) dot += static_cast<double>(q[d]) * rows[(std::int64_t{t} * 2) * dim + d];
    scores[static_cast<std::size_t>(t)] = dot * scale;
  }
  const double max = *std::max_element(scores.begin(), scores.end());
  double sum = 0;
  for (std::int32_t t = 0; t < context; ++t) {
    const double p = std::exp(scores[static_cast<std::size_t>(t)] - max);
    sum += p;
    for (std::int32_t d = 0; d < dim; ++d)
      out[static_cast<std::size_t>(d)] += p * rows[(std::int64_t{t} * 2 + 1) * dim + d];
  }
  for (double& value : out) value /= sum;
  return out;
}

}  // namespace

double last_row_error(const XqaDecodeArgs& decode, std::int32_t context) {
  const std::int32_t row = decode.batch.bucket - 1, dim = decode.pool.dim, group = decode.heads / decode.pool.kv_heads;
  const std::int64_t first = std::int64_t{row} * decode.heads * dim, count = std::int64_t{group} * dim;
  const auto values = [&](const void* from, Dtype dtype) {
    const std::uint64_t element = dtype_bytes(dtype);
    const std::vector<std::byte> bytes =
        read_back(static_cast<const std::byte*>(from) + first * static_cast<std::int64_t>(element), count * element);
    std::vector<float> out(static_cast<std::size_t>(count));
    decode_to_float(bytes.data(), dtype, 0, count, out.data());
    return out;
  };
  const std::vector<float> q = values(decode.q, decode.q_dtype), out = values(decode.out, decode.out_dtype);
  const std::vector<float> rows = rows_of(decode, row, context);
  double worst = 0;
  for (std::int32_t head = 0; head < group; ++head) {
    const std::vector<double> expected =
        attend(q.data() + std::int64_t{head} * dim, rows, context, dim, static_cast<double>(decode.softmax_scale));
    for (std::int32_t d = 0; d < dim; ++d) {
      const double found = out[static_cast<std::size_t>(std::int64_t{head} * dim + d)];
      const double error = std::abs(found - expected[static_cast<std::size_t>(d)]);
      worst = std::isnan(error) ? error : std::max(worst, error);
    }
  }
  return worst;
}

}  // namespace refrain::bench
