#include "runtime/steps/poison.hpp"

#include <algorithm>
#include <limits>
#include <random>

#include "kernels/plan_grouped.hpp"
#include "kernels/plan_xqa.hpp"

namespace refrain {
namespace {

constexpr std::byte kAllOnes{0xFF};  // NaN in fp32, fp16, bf16 and E4M3; -1 as an index

/// A quiet NaN of the cache's dtype, little-endian.
std::vector<std::byte> nan_of(Dtype dtype) {
  switch (dtype) {
    case Dtype::e4m3: return {std::byte{0x7F}};
    case Dtype::bf16: return {std::byte{0xC0}, std::byte{0x7F}};
    default: return {std::byte{0x00}, std::byte{0x7E}};
  }
}

void fill(Driver& driver, Address to, std::uint64_t bytes, std::byte value) {
  write_device(driver, to, std::vector<std::byte>(bytes, value));
}

Address element_address(const KvPoolView& pool, std::int64_t element) {
  return reinterpret_cast<Address>(pool.data) + static_cast<Address>(element) * dtype_bytes(pool.dtype);
}

void poison_null_block(Driver& driver, const KvPoolView& pool) {
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

void poison_pages(Driver& driver, const StepBuffers& b) {
  const KvPoolView& pool = b.pool.view();
  for (std::int32_t page = 0; page < pool.pages; ++page)
    if (page == kNullBlock || !b.pool.taken(page))
      fill(driver, element_address(pool, page * pool.page_elements()), pool.page_bytes(), kAllOnes);
  const std::int32_t tail = b.options.context % pool.page_size;
  if (tail == 0) return;
  const std::uint64_t bytes = static_cast<std::uint64_t>(pool.page_size - tail) * kHeadDim * dtype_bytes(pool.dtype);
  for (const auto& pages : b.pages)
    for (const std::int64_t plane : {std::int64_t{0}, pool.plane_elements()})
      fill(driver, element_address(pool, pool.k_offset(pages.back(), tail, 0) + plane), bytes, kAllOnes);
}

void poison_work(Driver& driver, const StepBuffers& b) {
  const auto all_ones = [&](const Lease& lease, std::uint64_t bytes) {
    fill(driver, lease.address(), bytes, kAllOnes);
  };
  if (b.options.grouped()) {
    const std::uint64_t entries = static_cast<std::uint64_t>(b.grouped.groups) * kGroupedWidth;
    all_ones(b.grouped.microblocks, entries * 4);
    all_ones(b.grouped.masks, entries * 4);
    all_ones(b.grouped.tokens, static_cast<std::uint64_t>(b.grouped.groups) * 4);
  }
  const auto slots = static_cast<std::uint64_t>(b.xqa.slots);
  all_ones(b.xqa.keys, slots * kXqaSlots * 8);
  all_ones(b.xqa.lengths, slots * 4);
  all_ones(b.xqa.slot_rows, slots * 4);
  all_ones(b.xqa.active_partitions, 4);
  all_ones(b.xqa.counters, static_cast<std::uint64_t>(b.xqa.counter_count()) * 4);
  all_ones(b.xqa.partials, b.xqa.partial_bytes());
  all_ones(b.xqa.partial_lse, b.xqa.lse_bytes());
  const auto row_heads = static_cast<std::uint64_t>(b.options.bucket_rows()) * kHeads;
  all_ones(b.output.out, row_heads * kHeadDim * dtype_bytes(b.options.q_dtype()));
  all_ones(b.output.lse, row_heads * sizeof(float));
}

void poison_table(Driver& driver, const StepBuffers& b, const StepInputs& inputs) {
  std::vector<std::int32_t> table = inputs.page_table;
  std::replace(table.begin(), table.end(), -1, std::numeric_limits<std::int32_t>::max());
  write_device(driver, b.page_table.address(), std::as_bytes(std::span(table)));
}

}  // namespace

void apply_poison(Driver& driver, const StepBuffers& b, const StepInputs& inputs, Poison poison) {
  switch (poison) {
    case Poison::none: return;
    case Poison::null_block: return poison_null_block(driver, b.pool.view());
    case Poison::random_page0: return poison_random_page0(driver, b.pool.view(), b.options.seed);
    case Poison::all:
      poison_pages(driver, b);
      poison_work(driver, b);
      poison_table(driver, b, inputs);
  }
}

}  // namespace refrain
