#include "runtime/steps/attention/inputs.hpp"

#include <algorithm>
#include <numeric>
#include <random>

#include "kernels/codec.hpp"
#include "kernels/plan_grouped.hpp"

namespace refrain {
namespace {

constexpr float kValueDeviation = 0.25f;

std::size_t at(std::int64_t index) {
  return static_cast<std::size_t>(index);
}

void fill_normal(std::vector<std::byte>& to, Dtype dtype, std::int64_t first, std::int64_t count, float deviation,
                 std::mt19937_64& random) {
  std::normal_distribution<float> normal(0.0f, deviation);
  for (std::int64_t i = 0; i < count; ++i) store_from_float(to.data(), dtype, first + i, normal(random));
}

/// Rows are request-major and split as evenly as possible, the first requests taking the extra row.
void place_rows(const StepOptions& o, AttentionInputs& in) {
  std::int32_t row = 0;
  for (std::int32_t request = 0; request < o.requests; ++request) {
    const std::int32_t n = o.rows / o.requests + (request < o.rows % o.requests ? 1 : 0);
    for (std::int32_t i = 0; i < n; ++i, ++row) {
      in.token_to_req[at(row)] = request;
      in.query_pos[at(row)] = std::int64_t{o.context} - n + i;
    }
  }
}

/// 512 of `complete` blocks, ascending; all of them when there are no more.
std::vector<std::int32_t> choose_blocks(std::int32_t complete, std::mt19937_64& random) {
  std::vector<std::int32_t> all(at(complete));
  std::iota(all.begin(), all.end(), 0);
  if (complete <= kSelectedBlocks) return all;
  std::vector<std::int32_t> chosen;
  std::sample(all.begin(), all.end(), std::back_inserter(chosen), kSelectedBlocks, random);
  return chosen;
}

void select_tokens(const StepOptions& o, AttentionInputs& in, std::mt19937_64& random) {
  for (std::int32_t row = 0; row < o.rows; ++row) {
    const std::int64_t visible = std::clamp<std::int64_t>(in.query_pos[at(row)] + 1, 0, o.context);
    std::int32_t* out = in.selected.data() + at(row) * kSelectedWidth;
    for (const std::int32_t block : choose_blocks(static_cast<std::int32_t>(visible / 4), random))
      for (std::int32_t i = 0; i < 4; ++i) *out++ = 4 * block + i;
    for (std::int64_t token = visible / 4 * 4; token < visible; ++token) *out++ = static_cast<std::int32_t>(token);
  }
}

/// Every token before this step's rows; those rows themselves are kv_append's work.
void write_history(const StepOptions& o, const KvPoolView& shape, AttentionInputs& in, std::mt19937_64& random) {
  std::vector<std::int64_t> first_row(at(o.requests), o.context);
  for (std::int32_t row = o.rows; row-- > 0;) first_row[at(in.token_to_req[at(row)])] = in.query_pos[at(row)];
  for (std::int32_t request = 0; request < o.requests; ++request)
    for (std::int64_t token = 0; token < first_row[at(request)]; ++token) {
      const std::int32_t page = in.page_table[at(request) * at(in.pages_per_request) + at(token / o.page_size)];
      const std::int64_t k = shape.k_offset(page, static_cast<std::int32_t>(token % o.page_size), 0);
      fill_normal(in.pool, o.kv, k, kHeadDim, 1.0f / in.scales[0], random);
      fill_normal(in.pool, o.kv, k + shape.plane_elements(), kHeadDim, kValueDeviation / in.scales[1], random);
    }
}

}  // namespace

std::int32_t pages_used(const StepOptions& o) {
  return (o.context + o.page_size - 1) / o.page_size;
}

KvPoolView pool_shape(const StepOptions& o) {
  KvPoolView shape;
  shape.pages = 1 + std::int64_t{o.requests} * pages_used(o) + 2;
  shape.page_size = o.page_size;
  shape.kv_heads = 1;
  shape.dim = kHeadDim;
  shape.dtype = o.kv;
  return shape;
}

AttentionInputs make_inputs(const StepOptions& o, const std::vector<std::vector<std::int32_t>>& pages,
                            std::array<float, 2> scales) {
  std::mt19937_64 random(o.seed);
  const std::int32_t bucket = o.bucket_rows();
  AttentionInputs in;
  in.scales = {scales[0], scales[1]};
  in.pages_per_request = pages_used(o) + 1;
  in.rows = {o.rows};
  in.token_to_req.assign(at(bucket), -1);
  in.query_pos.assign(at(bucket), -1);
  in.seq_len.assign(at(o.requests), o.context);
  in.page_table.assign(at(o.requests) * at(in.pages_per_request), -1);
  for (std::int32_t request = 0; request < o.requests; ++request)
    std::copy(pages[at(request)].begin(), pages[at(request)].end(),
              in.page_table.begin() + std::int64_t{request} * in.pages_per_request);
  in.selected.assign(at(bucket) * kSelectedWidth, -1);
  place_rows(o, in);
  select_tokens(o, in, random);
  const std::uint64_t element = dtype_bytes(o.q_dtype());
  in.q.assign(at(bucket) * kHeads * kHeadDim * element, std::byte{0});
  in.k.assign(at(bucket) * kHeadDim * element, std::byte{0});
  in.v = in.k;
  fill_normal(in.q, o.q_dtype(), 0, std::int64_t{o.rows} * kHeads * kHeadDim, 1.0f, random);
  fill_normal(in.k, o.q_dtype(), 0, std::int64_t{o.rows} * kHeadDim, 1.0f, random);
  fill_normal(in.v, o.q_dtype(), 0, std::int64_t{o.rows} * kHeadDim, kValueDeviation, random);
  const KvPoolView shape = pool_shape(o);
  in.pool.assign(shape.bytes(), std::byte{0});
  write_history(o, shape, in, random);
  return in;
}

std::vector<std::int64_t> attended_tokens(const AttentionInputs& in, std::int32_t row) {
  std::vector<std::int64_t> tokens;
  const std::int32_t* selected = in.selected.data() + at(row) * kSelectedWidth;
  std::copy_if(selected, selected + kSelectedWidth, std::back_inserter(tokens), [](std::int32_t t) { return t >= 0; });
  return tokens;
}

}  // namespace refrain
