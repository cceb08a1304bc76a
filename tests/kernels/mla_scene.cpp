#include "tests/kernels/mla_scene.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "kernels/codec.hpp"
#include "tests/catch.hpp"

namespace refrain::test {
namespace {

float clamped_normal(Rng& rng) {
  std::normal_distribution<float> normal;
  return std::clamp(normal(rng), -3.5f, 3.5f);
}

void fill_normal(void* data, Dtype dtype, std::int64_t count, Rng& rng) {
  for (std::int64_t i = 0; i < count; ++i) store_from_float(data, dtype, i, clamped_normal(rng));
}

constexpr float kNegativeInf = -std::numeric_limits<float>::infinity();

}  // namespace

MlaScene::MlaScene(const MlaShape& wanted, Rng& rng, std::byte* pool_data) : shape(wanted) {
  const std::int32_t rows = shape.rows + shape.pad_rows;
  args.pool = {.data = pool_data, .pages = shape.pages, .page_size = shape.page_size, .record = shape.record};
  if (pool_data == nullptr) args.pool.data = memory.take_bytes(args.pool.bytes());
  if (shape.record != MlaRecord::bf16) largest_v = 7.0;  // scales of up to 2
  const std::int64_t q_values = std::int64_t{shape.heads} * args.pool.dim();
  args.q = q = memory.take<std::byte>(2 * rows * q_values);
  fill_normal(q, Dtype::bf16, shape.rows * q_values, rng);
  args.indices = indices = memory.take<std::int32_t>(std::int64_t{rows} * shape.topk);  // -1, all of them
  args.lengths = lengths = memory.take<std::int32_t>(rows);
  std::fill_n(lengths, shape.rows, shape.topk);
  args.real_rows = real_rows = memory.take<std::int32_t>(1);
  *real_rows = shape.rows;
  if (shape.sinks) args.sinks = sinks = memory.take<float>(shape.heads);
  for (std::int32_t head = 0; shape.sinks && head < shape.heads; ++head) sinks[head] = 2 * clamped_normal(rng);
  args.softmax_scale = 1.0f / std::sqrt(static_cast<float>(args.pool.dim()));
  args.rows = rows;
  args.heads = shape.heads;
  args.topk = shape.topk;
  args.chunk = shape.chunk;
  args.split_entries = shape.chunk * shape.split_chunks;
  args.splits = (shape.topk + args.split_entries - 1) / args.split_entries;
  take_outputs();
}

void MlaScene::take_outputs() {
  const std::int64_t heads = std::int64_t{args.rows} * args.heads, splits = heads * args.splits;
  args.out = memory.take<std::uint16_t>(heads * kMlaValueDim);
  args.lse = memory.take<float>(heads);
  args.max_logits = memory.take<float>(heads);
  args.partials = memory.take<float>(splits * kMlaValueDim);
  args.partial_lse = memory.take<float>(splits);
  args.partial_max = memory.take<float>(splits);
  merge = {.partials = args.partials,
           .partial_lse = args.partial_lse,
           .partial_max = args.partial_max,
           .real_rows = real_rows,
           .sinks = sinks,
           .rows = args.rows,
           .heads = args.heads,
           .splits = args.splits,
           .out = args.out,
           .lse = args.lse,
           .max_logits = args.max_logits};
}

void MlaScene::put_random(std::int32_t row, std::int32_t begin, std::int32_t end, Rng& rng) {
  std::vector<std::int32_t> slots(static_cast<std::size_t>(args.pool.slots() - 1));
  std::iota(slots.begin(), slots.end(), 1);
  std::shuffle(slots.begin(), slots.end(), rng);
  for (std::int32_t i = begin; i < end; ++i) list(row)[i] = slots[static_cast<std::size_t>(i - begin) % slots.size()];
}

void MlaScene::fill_slot(std::int64_t slot, Rng& rng) {
  const MlaPoolView& pool = args.pool;
  std::byte* record = pool.data + pool.record_offset(slot);
  if (shape.record == MlaRecord::bf16) return fill_normal(record, Dtype::bf16, pool.dim(), rng);
  fill_normal(record, Dtype::e4m3, pool.nope(), rng);
  if (shape.record == MlaRecord::e4m3_656) {
    for (std::int64_t g = 0; g < 4; ++g)
      store_from_float(record + 512, Dtype::fp32, g, std::ldexp(1.0f, static_cast<int>(rng() % 3) - 1));
    return fill_normal(record + 528, Dtype::bf16, kMlaRope, rng);
  }
  std::byte* scales = pool.data + pool.footer_offset(slot);
  for (std::int64_t g = 0; g < 7; ++g) scales[g] = std::byte(126 + rng() % 3);
  fill_normal(record + 448, Dtype::bf16, kMlaRope, rng);
}

void MlaScene::set_slot_bytes(std::int64_t slot, const std::vector<std::uint8_t>& bytes) {
  const MlaPoolView& pool = args.pool;
  const auto data_bytes = static_cast<std::size_t>(pool.record_bytes());
  std::memcpy(pool.data + pool.record_offset(slot), bytes.data(), data_bytes);
  if (shape.record == MlaRecord::e4m3_584)
    std::memcpy(pool.data + pool.footer_offset(slot), bytes.data() + data_bytes, kMlaFooterBytes);
}

std::vector<MlaOracleRow> MlaScene::attended() const {
  std::vector<MlaOracleRow> rows;
  for (std::int32_t row = 0; row < shape.rows; ++row) {
    MlaOracleRow attended{row, {}};
    for (std::int32_t i = 0; i < std::min(shape.topk, lengths[row]); ++i) {
      const std::int64_t slot = indices[std::int64_t{row} * shape.topk + i];
      if (slot >= 0 && slot < shape.pages * shape.page_size) attended.slots.push_back(slot);
    }
    rows.push_back(std::move(attended));
  }
  return rows;
}

void MlaScene::fill_attended(Rng& rng) {
  std::vector<std::int64_t> slots;
  for (const MlaOracleRow& row : attended()) slots.insert(slots.end(), row.slots.begin(), row.slots.end());
  std::sort(slots.begin(), slots.end());
  slots.erase(std::unique(slots.begin(), slots.end()), slots.end());
  for (const std::int64_t slot : slots) fill_slot(slot, rng);
}

MlaProblem MlaScene::problem() const {
  return {.q = q, .pool = args.pool, .heads = shape.heads, .softmax_scale = args.softmax_scale, .sinks = sinks};
}

void MlaScene::poison_outputs() {
  const auto heads = static_cast<std::size_t>(args.rows) * static_cast<std::size_t>(args.heads);
  const std::size_t splits = heads * static_cast<std::size_t>(args.splits);
  std::memset(args.out, 0xFF, heads * kMlaValueDim * 2);
  std::memset(args.lse, 0xFF, heads * 4);
  std::memset(args.max_logits, 0xFF, heads * 4);
  std::memset(args.partials, 0xFF, splits * kMlaValueDim * 4);
  std::memset(args.partial_lse, 0xFF, splits * 4);
  std::memset(args.partial_max, 0xFF, splits * 4);
}

void MlaScene::run(MlaRoute route) {
  poison_outputs();
  if (route == MlaRoute::prefill) return sparse_mla_prefill.host(args);
  sparse_mla_decode.host(args);
  merge_mla.host(merge);
}

float MlaScene::out_value(std::int64_t index) const {
  return load_as_float(args.out, Dtype::bf16, index);
}

bool MlaScene::is_nan_row(std::int32_t row) const {
  std::int64_t nan = 0;
  for (std::int64_t i = row * row_values(); i < (row + 1) * row_values(); ++i) nan += std::isnan(out_value(i)) ? 1 : 0;
  INFO("row " << row << ": " << nan << " of " << row_values() << " are NaN");
  REQUIRE((nan == 0 || nan == row_values()));
  return nan != 0;
}

bool MlaScene::is_finite_row(std::int32_t row) const {
  for (std::int64_t i = row * row_values(); i < (row + 1) * row_values(); ++i)
    if (!std::isfinite(out_value(i))) return false;
  return true;
}

bool MlaScene::is_empty_row(std::int32_t row) const {
  for (std::int64_t i = row * row_values(); i < (row + 1) * row_values(); ++i)
    if (out_value(i) != 0.0f) return false;
  for (std::int64_t at = std::int64_t{row} * args.heads; at < (std::int64_t{row} + 1) * args.heads; ++at)
    if (args.lse[at] != kNegativeInf || args.max_logits[at] != kNegativeInf) return false;
  return true;
}

MlaCompared compare(const MlaScene& scene) {
  const std::vector<MlaOracleRow> rows = scene.attended();
  const MlaOracleResult want = mla_oracle(scene.problem(), rows);
  MlaCompared worst;
  const auto raise = [](double& to, double got, double expected, double bound) {
    const double share = got == expected ? 0 : std::abs(got - expected) / bound;
    to = std::isnan(share) ? HUGE_VAL : std::max(to, share);
  };
  for (std::size_t i = 0; i < want.out.size(); ++i) {
    const double bound = tolerance(Dtype::bf16, want.out[i], scene.largest_v);
    raise(worst.out, scene.out_value(static_cast<std::int64_t>(i)), want.out[i], bound);
  }
  for (std::size_t at = 0; at < want.lse.size(); ++at) {
    raise(worst.lse, scene.args.lse[at], want.lse[at], 1e-3);
    raise(worst.max_logits, scene.args.max_logits[at], want.max_logits[at], 1e-3);
  }
  return worst;
}

void require_right(const MlaScene& scene) {
  const MlaCompared worst = compare(scene);
  CHECK(worst.out <= 1.0);
  CHECK(worst.lse <= 1.0);
  CHECK(worst.max_logits <= 1.0);
  for (std::int32_t row = scene.shape.rows; row < scene.args.rows; ++row) CHECK(scene.is_empty_row(row));
}

}  // namespace refrain::test
