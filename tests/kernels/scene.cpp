#include "tests/kernels/scene.hpp"

#include <algorithm>
#include <climits>
#include <cmath>
#include <numeric>

#include "kernels/codec.hpp"

namespace refrain::test {
namespace {

std::int64_t count_bytes(std::int64_t count, Dtype dtype) {
  return count * static_cast<std::int64_t>(dtype_bytes(dtype));
}

void fill_normal(void* data, Dtype dtype, std::int64_t first, std::int64_t count, Rng& rng) {
  std::normal_distribution<float> normal;
  for (std::int64_t i = 0; i < count; ++i)
    store_from_float(data, dtype, first + i, std::clamp(normal(rng), -3.5f, 3.5f));
}

}  // namespace

std::uint64_t fresh_seed() {
  std::random_device device;
  return std::uint64_t{device()} << 32 | device();
}

Scene::Scene(const SceneShape& wanted, Rng& rng) : shape(wanted) {
  batch.requests = static_cast<std::int32_t>(shape.lengths.size());
  const std::int32_t real = std::accumulate(shape.rows.begin(), shape.rows.end(), 0);
  batch.bucket = real + shape.pad_rows;
  const std::int32_t longest = *std::max_element(shape.lengths.begin(), shape.lengths.end());
  batch.pages_per_request = longest / shape.page_size + 3;
  batch.rows = rows = memory.take<std::int32_t>(1);
  *rows = real;
  batch.token_to_req = token_to_req = memory.take<std::int32_t>(batch.bucket);
  batch.query_pos = query_pos = memory.take<std::int64_t>(batch.bucket);
  batch.seq_len = seq_len = memory.take<std::int32_t>(batch.requests);
  const std::int64_t entries = std::int64_t{batch.requests} * batch.pages_per_request;
  batch.page_table = page_table = memory.take<std::int32_t>(entries);
  pool = {.pages = entries + 2,
          .page_size = shape.page_size,
          .kv_heads = shape.kv_heads,
          .dim = shape.dim,
          .dtype = shape.kv_dtype};
  pool.data = memory.take_bytes(pool.bytes());
  const std::int64_t q_count = std::int64_t{batch.bucket} * shape.heads * shape.dim;
  q = memory.take<std::byte>(count_bytes(q_count, shape.q_dtype));
  fill_normal(q, shape.q_dtype, 0, std::int64_t{real} * shape.heads * shape.dim, rng);
  selected = memory.take<std::int32_t>(std::int64_t{batch.bucket} * kSelectedWidth);
  k_scale = memory.take<float>(1);
  v_scale = memory.take<float>(1);
  *k_scale = shape.k_scale;
  *v_scale = shape.v_scale;
  softmax_scale = 1.0f / std::sqrt(static_cast<float>(shape.dim));
  fill_tables(rng);
  fill_pool(rng);
}

void Scene::fill_tables(Rng& rng) {
  std::vector<std::int32_t> pages(static_cast<std::size_t>(pool.pages - 1));
  std::iota(pages.begin(), pages.end(), 1);
  std::shuffle(pages.begin(), pages.end(), rng);
  std::size_t next = 0;
  std::int32_t row = 0;
  for (std::int32_t request = 0; request < batch.requests; ++request) {
    const auto at = static_cast<std::size_t>(request);
    seq_len[request] = shape.lengths[at];
    const std::int32_t used = (seq_len[request] + shape.page_size - 1) / shape.page_size;
    for (std::int32_t i = 0; i < batch.pages_per_request; ++i)
      page_table[request * batch.pages_per_request + i] = i < used ? pages[next++] : (i % 2 == 0 ? INT_MAX : pages[0]);
    for (std::int32_t i = 0; i < shape.rows[at]; ++i, ++row) {
      token_to_req[row] = request;
      query_pos[row] = seq_len[request] - shape.rows[at] + i;
    }
  }
}

void Scene::fill_pool(Rng& rng) {
  const std::int64_t width = std::int64_t{pool.kv_heads} * pool.dim;
  for (std::int32_t request = 0; request < batch.requests; ++request)
    for (std::int64_t token = 0; token < seq_len[request]; ++token)
      for (const std::byte* from : {k_row(request, token), v_row(request, token)})
        fill_normal(pool.data, pool.dtype, (from - pool.data) / static_cast<std::int64_t>(dtype_bytes(pool.dtype)),
                    width, rng);
}

std::byte* Scene::k_row(std::int32_t request, std::int64_t token, std::int32_t kv_head) const {
  const std::int64_t page = page_table[request * batch.pages_per_request + token / pool.page_size];
  const auto in_page = static_cast<std::int32_t>(token % pool.page_size);
  return pool.data + count_bytes(pool.k_offset(page, in_page, kv_head), pool.dtype);
}

std::byte* Scene::v_row(std::int32_t request, std::int64_t token, std::int32_t kv_head) const {
  return k_row(request, token, kv_head) + count_bytes(pool.plane_elements(), pool.dtype);
}

void Scene::select_row(std::int32_t row, const std::vector<std::int32_t>& blocks) {
  std::int32_t* out = selected + std::int64_t{row} * kSelectedWidth;
  std::fill_n(out, kSelectedWidth, -1);
  for (const std::int32_t block : blocks)
    for (std::int32_t i = 0; i < 4; ++i) *out++ = 4 * block + i;
  const std::int64_t visible = std::min<std::int64_t>(query_pos[row] + 1, seq_len[token_to_req[row]]);
  for (std::int64_t token = visible / 4 * 4; token < visible; ++token) *out++ = static_cast<std::int32_t>(token);
}

void Scene::select(Rng& rng) {
  for (std::int32_t row = 0; row < *rows; ++row) {
    const std::int64_t visible = std::min<std::int64_t>(query_pos[row] + 1, seq_len[token_to_req[row]]);
    std::vector<std::int32_t> blocks(static_cast<std::size_t>(std::max<std::int64_t>(visible / 4, 0)));
    std::iota(blocks.begin(), blocks.end(), 0);
    std::shuffle(blocks.begin(), blocks.end(), rng);
    blocks.resize(std::min<std::size_t>(blocks.size(), kSelectedBlocks));
    select_row(row, blocks);
  }
}

void Scene::select_first() {
  for (std::int32_t row = 0; row < *rows; ++row) {
    const std::int64_t visible = std::min<std::int64_t>(query_pos[row] + 1, seq_len[token_to_req[row]]);
    std::vector<std::int32_t> blocks(std::min<std::size_t>(static_cast<std::size_t>(visible / 4), kSelectedBlocks));
    std::iota(blocks.begin(), blocks.end(), 0);
    select_row(row, blocks);
  }
}

std::vector<std::int64_t> Scene::selected_tokens(std::int32_t row) const {
  std::vector<std::int64_t> tokens;
  for (std::int32_t i = 0; i < kSelectedWidth; ++i) {
    const std::int32_t token = selected[std::int64_t{row} * kSelectedWidth + i];
    if (token >= 0) tokens.push_back(token);
  }
  return tokens;
}

std::vector<std::int64_t> Scene::visible_tokens(std::int32_t row) const {
  std::vector<std::int64_t> tokens(static_cast<std::size_t>(query_pos[row] + 1));
  std::iota(tokens.begin(), tokens.end(), 0);
  return tokens;
}

OracleRow Scene::oracle_row(std::int32_t row, std::vector<std::int64_t> tokens) const {
  const auto width = static_cast<std::size_t>(batch.pages_per_request);
  return {row, std::move(tokens), {page_table + static_cast<std::size_t>(token_to_req[row]) * width, width}};
}

OracleProblem Scene::problem() const {
  return {.q = q,
          .q_dtype = shape.q_dtype,
          .pool = pool,
          .rows = batch.bucket,
          .heads = shape.heads,
          .k_scale = *k_scale,
          .v_scale = *v_scale,
          .softmax_scale = softmax_scale};
}

GroupedRun::GroupedRun(Scene& s) : scene(s) {
  const std::int64_t count = std::int64_t{s.groups()} * kGroupedWidth;
  plan = {.selected = s.selected,
          .batch = s.batch,
          .pool = s.pool,
          .microblocks = s.memory.take<std::int32_t>(count),
          .masks = s.memory.take<std::uint32_t>(count),
          .tokens = s.memory.take<std::int32_t>(s.groups()),
          .groups = s.groups()};
  fix = {.microblocks = plan.microblocks, .masks = plan.masks, .groups = s.groups(), .width = kGroupedWidth};
  const std::int64_t rows = std::int64_t{s.batch.bucket} * kGroupedHeads;
  attention = {.q = s.q,
               .q_dtype = s.shape.q_dtype,
               .pool = s.pool,
               .microblocks = plan.microblocks,
               .masks = plan.masks,
               .tokens = plan.tokens,
               .k_scale = s.k_scale,
               .v_scale = s.v_scale,
               .softmax_scale = s.softmax_scale,
               .bucket = s.batch.bucket,
               .groups = s.groups(),
               .out = s.memory.take<std::byte>(count_bytes(rows * s.shape.dim, s.shape.q_dtype)),
               .lse = s.memory.take<float>(rows)};
}

void GroupedRun::run(bool with_pad_fix, bool zero_unattended) {
  attention.zero_unattended = zero_unattended;
  plan_grouped.host(plan);
  if (with_pad_fix) pad_fix.host(fix);
  grouped_attention.host(attention);
}

XqaRun::XqaRun(Scene& s, const Options& options) {
  const std::int32_t bucket = s.batch.bucket, heads = s.shape.heads;
  const std::int32_t slots = options.group_rows == 0 ? bucket : std::min(bucket, kGroupRows - 1);
  const std::int64_t slot_heads = std::int64_t{slots} * heads, splits = slot_heads * options.partitions;
  const std::int64_t rows = std::int64_t{bucket} * heads;
  Memory& m = s.memory;
  plan = {.selected = options.dense ? nullptr : s.selected,
          .batch = s.batch,
          .pool = s.pool,
          .slots = slots,
          .group_rows = options.group_rows,
          .heads = heads,
          .partitions = options.partitions,
          .partition_tokens = options.partition_tokens,
          .keys = options.dense ? nullptr : m.take<std::int64_t>(std::int64_t{slots} * kXqaSlots),
          .slot_rows = m.take<std::int32_t>(slots),
          .lengths = m.take<std::int32_t>(slots),
          .active_partitions = m.take<std::int32_t>(1),
          .counter_sets = options.counter_sets,
          .counters = m.take<std::int32_t>(options.counter_sets * slot_heads),
          .counters_zeroed = options.counter_sets * slot_heads};
  decode = {.q = s.q,
            .q_dtype = s.shape.q_dtype,
            .pool = s.pool,
            .batch = s.batch,
            .keys = plan.keys,
            .slot_rows = plan.slot_rows,
            .lengths = plan.lengths,
            .active_partitions = plan.active_partitions,
            .k_scale = s.k_scale,
            .v_scale = s.v_scale,
            .softmax_scale = s.softmax_scale,
            .slots = slots,
            .heads = heads,
            .partitions = options.partitions,
            .partition_tokens = options.partition_tokens,
            .partials = m.take<std::byte>(count_bytes(splits * s.shape.dim, options.partial_dtype)),
            .partial_dtype = options.partial_dtype,
            .partial_lse = m.take<float>(splits),
            .counters = plan.counters,
            .every_row = options.group_rows == 0,
            .out_dtype = s.shape.q_dtype,
            .out = m.take<std::byte>(count_bytes(rows * s.shape.dim, s.shape.q_dtype)),
            .lse = m.take<float>(rows)};
}

void XqaRun::run() {
  plan_xqa.host(plan);
  xqa_decode.host(decode);
}

double tolerance(Dtype dtype, double value, double largest_v) {
  const int exponent = value == 0 ? -14 : std::max(std::ilogb(value), -14);
  if (dtype == Dtype::fp16) return std::max(2.5e-4, std::ldexp(1.0, exponent - 10));
  return std::ldexp(1.0, exponent - 7) + largest_v * 0x1p-8;
}

Compared compare(const Scene& scene, const void* out, const float* lse, const std::vector<OracleRow>& rows) {
  const OracleResult want = attention_oracle(scene.problem(), rows);
  const auto heads = static_cast<std::size_t>(scene.shape.heads), dim = static_cast<std::size_t>(scene.shape.dim);
  const double largest_v = 3.5 * scene.shape.v_scale;
  // P is rounded before it is summed: 2^-11 (fp16) or 2^-8 (bf16) relative at most, hence of the LSE absolute.
  const double lse_unit = scene.shape.q_dtype == Dtype::fp16 ? 1e-3 : 4e-3;
  Compared worst;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::size_t first = static_cast<std::size_t>(rows[i].row) * heads;
    for (std::size_t head = 0; head < heads; ++head) {
      for (std::size_t d = 0; d < dim; ++d) {
        const double expected = want.out[(i * heads + head) * dim + d];
        const auto index = static_cast<std::int64_t>((first + head) * dim + d);
        const double error = std::abs(load_as_float(out, scene.shape.q_dtype, index) - expected);
        const double share = error / tolerance(scene.shape.q_dtype, expected, largest_v);
        worst.out = std::isnan(share) ? HUGE_VAL : std::max(worst.out, share);
      }
      const double expected = want.lse[i * heads + head], got = lse[first + head];
      const double error = expected == got ? 0 : std::abs(got - expected) / lse_unit;
      worst.lse = std::isnan(error) ? HUGE_VAL : std::max(worst.lse, error);
    }
  }
  return worst;
}

bool is_nan(const void* data, Dtype dtype, std::int64_t index) {
  return std::isnan(load_as_float(data, dtype, index));
}

void scatter(Scene& scene, Rng& rng) {
  for (std::int32_t row = 0; row < *scene.rows; ++row) {
    std::vector<std::int32_t> tokens(static_cast<std::size_t>(scene.seq_len[scene.token_to_req[row]]));
    std::iota(tokens.begin(), tokens.end(), 0);
    std::shuffle(tokens.begin(), tokens.end(), rng);
    const std::size_t count = std::min<std::size_t>(tokens.size(), 4 * kSelectedBlocks);
    std::copy_n(tokens.begin(), count, scene.selected + std::int64_t{row} * kSelectedWidth);
  }
}

}  // namespace refrain::test
