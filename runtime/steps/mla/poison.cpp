#include "runtime/steps/mla/poison.hpp"

#include <algorithm>
#include <limits>
#include <random>

#include "kernels/codec.hpp"
#include "runtime/transfer.hpp"

namespace refrain {
namespace {

constexpr std::int32_t kWild = std::numeric_limits<std::int32_t>::max();

std::uint64_t u(std::int64_t count) {
  return static_cast<std::uint64_t>(count);
}

Address address_of(const MlaPoolView& pool, std::int64_t offset) {
  return reinterpret_cast<Address>(pool.data) + u(offset);
}

/// Records of one page, their footers with them.
void fill_records(Driver& driver, const MlaPoolView& pool, std::int64_t first, std::int64_t count, Fill fill) {
  fill_bytes(driver, address_of(pool, pool.record_offset(first)), u(count * pool.record_bytes()), fill);
  if (pool.record == MlaRecord::e4m3_584)
    fill_bytes(driver, address_of(pool, pool.footer_offset(first)), u(count * kMlaFooterBytes), fill);
}

void fill_page(Driver& driver, const MlaPoolView& pool, std::int64_t page, Fill fill) {
  fill_bytes(driver, address_of(pool, page * pool.page_bytes()), u(pool.page_bytes()), fill);
}

void fill_pad_rows(Driver& driver, const MlaBuffers& b, const MlaInputs&, Fill fill) {
  const StepOptions& o = b.options;
  const std::uint64_t row = u(o.heads) * u(b.source().dim()) * 2;
  fill_bytes(driver, b.q.address() + u(o.rows) * row, u(o.bucket_rows() - o.rows) * row, fill);
}

/// A pad row's list: wild, or that of a row that was real in an earlier step.
void fill_pad_tables(Driver& driver, const MlaBuffers& b, const MlaInputs& in, Fill fill) {
  const StepOptions& o = b.options;
  const bool stale = fill == Fill::stale_id;
  std::vector<std::int32_t> indices = in.indices, lengths = in.lengths;
  std::fill(lengths.begin() + o.rows, lengths.end(), stale ? in.lengths[0] : kWild);
  for (std::size_t i = u(o.rows) * u(o.topk); i < indices.size(); ++i)
    indices[i] = stale ? in.indices[i % u(o.topk)] : kWild;
  write_array(driver, b.indices, indices);
  write_array(driver, b.lengths, lengths);
}

void fill_null_block(Driver& driver, const MlaBuffers& b, const MlaInputs&, Fill fill) {
  fill_page(driver, b.source(), 0, fill);
}

void fill_scratch_page0(Driver& driver, const MlaBuffers& b, const MlaInputs&, Fill fill) {
  fill_page(driver, b.scratch(), 0, fill);
}

void fill_scratch(Driver& driver, const MlaBuffers& b, const MlaInputs&, Fill fill) {
  fill_bytes(driver, address_of(b.scratch(), 0), b.scratch().bytes(), fill);
  fill_bytes(driver, b.touched.address(), u(b.source().pages), fill);
}

void fill_unused_pages(Driver& driver, const MlaBuffers& b, const MlaInputs& in, Fill fill) {
  for (const std::int32_t page : in.unused_pages) fill_page(driver, b.source(), page, fill);
}

void fill_page_tails(Driver& driver, const MlaBuffers& b, const MlaInputs& in, Fill fill) {
  const std::int64_t size = b.options.page_size, tail = b.options.context % size;
  for (const auto& pages : in.pages) fill_records(driver, b.source(), pages.back() * size + tail, size - tail, fill);
}

/// In runs within a page.
void fill_unattended(Driver& driver, const MlaBuffers& b, const MlaInputs& in, Fill fill) {
  const MlaPoolView pool = b.source();
  for (const auto& pages : in.pages)
    for (std::int64_t token = 0; token < b.options.context; ++token) {
      const std::int64_t page_end =
          std::min<std::int64_t>(b.options.context, (token / pool.page_size + 1) * pool.page_size);
      const std::int64_t first =
          pages[u(token / pool.page_size)] * std::int64_t{pool.page_size} + token % pool.page_size;
      std::int64_t count = 0;
      while (token + count < page_end && !in.attends(pool, first + count)) ++count;
      if (count > 0) fill_records(driver, pool, first, count, fill);
      token += count;
    }
}

/// Wild ids, or a valid one whose record is NaN.
void fill_past_length(Driver& driver, const MlaBuffers& b, const MlaInputs& in, Fill fill) {
  const bool stale = fill == Fill::stale_id;
  std::vector<std::int32_t> indices = in.indices;
  for (std::size_t row = 0; row < u(b.options.rows); ++row) {
    const auto list = indices.begin() + static_cast<std::ptrdiff_t>(row * u(b.options.topk));
    std::fill(list + in.lengths[row], list + b.options.topk, stale ? in.stale_slot : kWild);
  }
  write_array(driver, b.indices, indices);
  if (stale) fill_records(driver, b.source(), in.stale_slot, 1, Fill::ones);
}

void fill_partials(Driver& driver, const MlaBuffers& b, const MlaInputs&, Fill fill) {
  fill_bytes(driver, b.partials.address(), u(b.split_rows()) * kMlaValueDim * sizeof(float), fill);
}

void fill_split_lse(Driver& driver, const MlaBuffers& b, const MlaInputs&, Fill fill) {
  fill_bytes(driver, b.partial_lse.address(), u(b.split_rows()) * sizeof(float), fill);
}

void fill_output(Driver& driver, const MlaBuffers& b, const MlaInputs&, Fill fill) {
  for (const OutputTensor& tensor : b.outputs()) fill_bytes(driver, tensor.address, tensor.bytes(), fill);
}

/// The values of a record that V takes part in: 512 bf16, 512 E4M3, or 448 E4M3 and 64 bf16.
void make_values_nan(const MlaPoolView& page, std::int64_t slot) {
  std::byte* record = page.data + page.record_offset(slot);
  const std::int64_t codes = page.record == MlaRecord::bf16 ? 0 : page.nope();
  std::fill_n(record, codes, std::byte{0x7F});
  for (std::int64_t i = 0; i < kMlaValueDim - codes; ++i)
    store_from_float(record + codes, Dtype::bf16, i, std::numeric_limits<float>::quiet_NaN());
}

}  // namespace

std::vector<PoisonAxis> mla_axes(const MlaBuffers& b, const MlaInputs& in) {
  using Apply = void (*)(Driver&, const MlaBuffers&, const MlaInputs&, Fill);
  const StepOptions& o = b.options;
  std::vector<PoisonAxis> axes;
  const auto add = [&](const char* name, std::span<const Fill> fills, Apply apply, bool applies = true) {
    if (applies)
      axes.push_back({name, fills, [&b, &in, apply](Driver& driver, Fill fill) { apply(driver, b, in, fill); }});
  };
  const bool has_pads = o.bucket_rows() > o.rows;
  const bool has_short =
      std::any_of(in.lengths.begin(), in.lengths.begin() + o.rows, [&](auto n) { return n < o.topk; });
  add("pad rows", kDataFills, fill_pad_rows, has_pads);
  add("pad tables", kIndexFills, fill_pad_tables, has_pads);
  add("null block", kPoolFills, fill_null_block);
  add("scratch page 0", kPoolFills, fill_scratch_page0, o.splits_pages());
  add("scratch", kDataFills, fill_scratch, o.splits_pages());
  add("unused pages", kPoolFills, fill_unused_pages);
  add("page tails", kPoolFills, fill_page_tails, o.context % o.page_size != 0);
  add("unattended records", kDataFills, fill_unattended);
  add("indices past length", kIndexFills, fill_past_length, has_short);
  add("partials", kDataFills, fill_partials, b.decodes());
  add("split LSE", kDataFills, fill_split_lse, b.decodes());
  add("output", kDataFills, fill_output);
  return axes;
}

void poison_mla_page0(Driver& driver, const MlaBuffers& b, Poison poison) {
  MlaPoolView page = b.source();
  page.pages = 1;
  std::vector<std::byte> bytes(page.bytes());
  page.data = bytes.data();
  if (poison == Poison::null_block)
    for (std::int64_t slot = 0; slot < page.page_size; ++slot) make_values_nan(page, slot);
  std::mt19937_64 random(b.options.seed);
  if (poison == Poison::random_page0)
    std::generate(bytes.begin(), bytes.end(), [&] { return static_cast<std::byte>(random()); });
  write_device(driver, b.pool.address(), bytes);
}

}  // namespace refrain
