#include "runtime/steps/attention/poison.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <random>

#include "kernels/codec.hpp"
#include "kernels/plan_grouped.hpp"
#include "kernels/plan_xqa.hpp"

namespace refrain {
namespace {

std::uint64_t u(std::int64_t count) {
  return static_cast<std::uint64_t>(count);
}

Address element_address(const KvPoolView& pool, std::int64_t element) {
  return reinterpret_cast<Address>(pool.data) + u(element) * dtype_bytes(pool.dtype);
}

void fill_pad_rows(Driver& driver, const AttentionBuffers& b, const AttentionInputs&, Fill fill) {
  const StepOptions& o = b.options;
  const std::uint64_t row = kHeadDim * dtype_bytes(o.q_dtype()), first = u(o.rows), pads = u(o.bucket_rows() - o.rows);
  fill_bytes(driver, b.q.address() + first * kHeads * row, pads * kHeads * row, fill);
  fill_bytes(driver, b.k.address() + first * row, pads * row, fill);
  fill_bytes(driver, b.v.address() + first * row, pads * row, fill);
}

/// A pad row's table entries: wild, or those of a row that was real in an earlier step.
void fill_pad_tables(Driver& driver, const AttentionBuffers& b, const AttentionInputs& in, Fill fill) {
  const StepOptions& o = b.options;
  const bool stale = fill == Fill::stale_id;
  constexpr std::int32_t kWild = std::numeric_limits<std::int32_t>::max();
  std::vector<std::int32_t> request = in.token_to_req, selected = in.selected;
  std::vector<std::int64_t> position = in.query_pos;
  for (std::size_t row = u(o.rows); row < request.size(); ++row) {
    request[row] = stale ? in.token_to_req[0] : kWild;
    position[row] = stale ? in.query_pos[0] : kWild;
    for (std::size_t i = 0; i < kSelectedWidth; ++i)
      selected[row * kSelectedWidth + i] = stale ? in.selected[i] : kWild;
  }
  write_device(driver, b.token_to_req.address(), std::as_bytes(std::span(request)));
  write_device(driver, b.query_pos.address(), std::as_bytes(std::span(position)));
  write_device(driver, b.selected.address(), std::as_bytes(std::span(selected)));
}

void fill_page(Driver& driver, const KvPoolView& pool, std::int32_t page, Fill fill) {
  fill_bytes(driver, element_address(pool, page * pool.page_elements()), pool.page_bytes(), fill);
}

void fill_null_block(Driver& driver, const AttentionBuffers& b, const AttentionInputs&, Fill fill) {
  fill_page(driver, b.pool.view(), kNullBlock, fill);
}

void fill_unused_pages(Driver& driver, const AttentionBuffers& b, const AttentionInputs&, Fill fill) {
  for (std::int32_t page = 1; page < b.pool.view().pages; ++page)
    if (!b.pool.pages().taken(page)) fill_page(driver, b.pool.view(), page, fill);
}

void fill_page_tails(Driver& driver, const AttentionBuffers& b, const AttentionInputs&, Fill fill) {
  const KvPoolView& pool = b.pool.view();
  const std::int32_t tail = b.options.context % pool.page_size;
  const std::uint64_t bytes = u(pool.page_size - tail) * kHeadDim * dtype_bytes(pool.dtype);
  for (const auto& pages : b.pages)
    for (const std::int64_t plane : {std::int64_t{0}, pool.plane_elements()})
      fill_bytes(driver, element_address(pool, pool.k_offset(pages.back(), tail, 0) + plane), bytes, fill);
}

void fill_plan(Driver& driver, const AttentionBuffers& b, const AttentionInputs&, Fill fill) {
  if (b.options.grouped()) {
    const std::uint64_t entries = u(b.grouped.groups) * kGroupedWidth;
    fill_bytes(driver, b.grouped.microblocks.address(), entries * 4, fill);
    fill_bytes(driver, b.grouped.masks.address(), entries * 4, fill);
    fill_bytes(driver, b.grouped.tokens.address(), u(b.grouped.groups) * 4, fill);
  }
  fill_bytes(driver, b.xqa.keys.address(), u(b.xqa.slots) * kXqaSlots * 8, fill);
  fill_bytes(driver, b.xqa.lengths.address(), u(b.xqa.slots) * 4, fill);
  fill_bytes(driver, b.xqa.slot_rows.address(), u(b.xqa.slots) * 4, fill);
  fill_bytes(driver, b.xqa.active_partitions.address(), 4, fill);
}

void fill_scratch(Driver& driver, const AttentionBuffers& b, const AttentionInputs&, Fill fill) {
  fill_bytes(driver, b.xqa.counters.address(), u(b.xqa.counter_count()) * 4, fill);
}

void fill_partials(Driver& driver, const AttentionBuffers& b, const AttentionInputs&, Fill fill) {
  fill_bytes(driver, b.xqa.partials_address(), b.xqa.partial_bytes(), fill);
}

void fill_lse(Driver& driver, const AttentionBuffers& b, const AttentionInputs&, Fill fill) {
  fill_bytes(driver, b.xqa.partial_lse.address(), b.xqa.lse_bytes(), fill);
}

void fill_output(Driver& driver, const AttentionBuffers& b, const AttentionInputs&, Fill fill) {
  const std::uint64_t row_heads = u(b.options.bucket_rows()) * kHeads;
  fill_bytes(driver, b.output.out.address(), row_heads * kHeadDim * dtype_bytes(b.options.q_dtype()), fill);
  fill_bytes(driver, b.output.lse.address(), row_heads * sizeof(float), fill);
}

void fill_table(Driver& driver, const AttentionBuffers& b, const AttentionInputs& in, Fill fill) {
  std::vector<std::int32_t> table = in.page_table;
  const std::int32_t stale = b.pages.back().empty() ? 1 : b.pages.back().front();
  std::replace(table.begin(), table.end(), -1,
               fill == Fill::stale_id ? stale : std::numeric_limits<std::int32_t>::max());
  write_device(driver, b.page_table.address(), std::as_bytes(std::span(table)));
}

/// A quiet NaN of the cache's dtype, little-endian.
std::vector<std::byte> nan_of(Dtype dtype) {
  switch (dtype) {
    case Dtype::e4m3: return {std::byte{0x7F}};
    case Dtype::bf16: return {std::byte{0xC0}, std::byte{0x7F}};
    default: return {std::byte{0x00}, std::byte{0x7E}};
  }
}

void poison_report_dims(Driver& driver, const KvPoolView& pool) {
  for (std::int32_t token = 0; token < kMicroblockTokens; ++token)
    for (const std::int32_t dim : kPoisonedDims)
      write_device(driver, element_address(pool, pool.k_offset(0, token, 0) + pool.plane_elements() + dim),
                   nan_of(pool.dtype));
}

void poison_random_page0(Driver& driver, const KvPoolView& pool, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::byte> bytes(pool.page_bytes());
  std::generate(bytes.begin(), bytes.end(), [&] { return static_cast<std::byte>(random()); });
  write_device(driver, element_address(pool, 0), bytes);
}

}  // namespace

std::vector<PoisonAxis> attention_axes(const AttentionBuffers& b, const AttentionInputs& in) {
  using Apply = void (*)(Driver&, const AttentionBuffers&, const AttentionInputs&, Fill);
  std::vector<PoisonAxis> axes;
  const auto add = [&](const char* name, std::span<const Fill> fills, Apply apply, bool applies = true) {
    if (applies)
      axes.push_back({name, fills, [&b, &in, apply](Driver& driver, Fill fill) { apply(driver, b, in, fill); }});
  };
  const bool has_pads = b.options.bucket_rows() > b.options.rows;
  add("pad rows", kDataFills, fill_pad_rows, has_pads);
  add("pad tables", kIndexFills, fill_pad_tables, has_pads);
  add("null block", kPoolFills, fill_null_block);
  add("page tails", kPoolFills, fill_page_tails, b.options.context % b.options.page_size != 0);
  add("unused pages", kPoolFills, fill_unused_pages);
  add("plan", kDataFills, fill_plan);
  add("scratch", kDataFills, fill_scratch);
  add("partials", kDataFills, fill_partials);
  add("LSE", kDataFills, fill_lse);
  add("table past length", kIndexFills, fill_table);
  add("output", kDataFills, fill_output);
  return axes;
}

void poison_page0(Driver& driver, const AttentionBuffers& b, Poison poison) {
  if (poison == Poison::null_block) poison_report_dims(driver, b.pool.view());
  if (poison == Poison::random_page0) poison_random_page0(driver, b.pool.view(), b.options.seed);
}

}  // namespace refrain
