#include "runtime/steps/mla/inputs.hpp"

#include <algorithm>
#include <numeric>
#include <random>
#include <span>

#include "kernels/codec.hpp"
#include "kernels/mla_encode.hpp"

namespace refrain {
namespace {

constexpr std::int64_t kUnusedPages = 2;
/// Quarters of 14,340 source pages are 57,360 scratch pages, of which the last alone begins beyond 2^31. One page more
/// and offsets into the pool wrapped, too.
constexpr std::int64_t kPagesPast2Gib = 14'340;

std::size_t at(std::int64_t index) {
  return static_cast<std::size_t>(index);
}

std::int64_t owned_pages(const StepOptions& o) {
  return std::int64_t{o.requests} * mla_pages_used(o);
}

void take_pages(const StepOptions& o, const MlaPoolView& shape, MlaInputs& in, std::mt19937_64& random) {
  const std::int64_t first_owned = shape.pages - owned_pages(o);
  in.first_page = o.faults.has(Fault::split_int32_offsets) ? first_owned - kUnusedPages : 0;
  for (std::int64_t page = first_owned - kUnusedPages; page < first_owned; ++page)
    in.unused_pages.push_back(static_cast<std::int32_t>(page));
  std::vector<std::int32_t> taken(at(owned_pages(o)));
  std::iota(taken.begin(), taken.end(), static_cast<std::int32_t>(first_owned));
  if (o.requests > 1) std::shuffle(taken.begin(), taken.end(), random);
  for (auto page = taken.begin(); in.pages.size() < at(o.requests); page += mla_pages_used(o))
    in.pages.emplace_back(page, page + mla_pages_used(o));
}

/// How a real row's list is laid out; the last of three or more rows is all -1.
enum class Layout : std::uint8_t { full, gaps, masked_first_chunk, masked_last_chunk, short_length, empty };
constexpr std::int32_t kLayouts = 5;

Layout layout_of(const StepOptions& o, std::int32_t row) {
  if (o.rows >= 3 && row == o.rows - 1) return Layout::empty;
  const auto layout = static_cast<Layout>(row % kLayouts);
  const bool masks_chunk = layout == Layout::masked_first_chunk || layout == Layout::masked_last_chunk;
  return masks_chunk && o.topk == kMlaChunk ? Layout::full : layout;
}

/// Slots of `count` of the request's first `visible` tokens, in random order.
std::vector<std::int32_t> choose_slots(const std::vector<std::int32_t>& pages, std::int32_t page_size,
                                       std::int32_t visible, std::int32_t count, std::mt19937_64& random) {
  std::vector<std::int32_t> tokens(at(visible)), slots;
  std::iota(tokens.begin(), tokens.end(), 0);
  std::sample(tokens.begin(), tokens.end(), std::back_inserter(slots), count, random);
  for (std::int32_t& token : slots) token = pages[at(token / page_size)] * page_size + token % page_size;
  std::shuffle(slots.begin(), slots.end(), random);
  return slots;
}

void lay_row(const StepOptions& o, MlaInputs& in, std::int32_t row, std::int32_t request, std::int32_t visible,
             std::mt19937_64& random) {
  const Layout layout = layout_of(o, row);
  std::int32_t begin = 0, end = o.topk;
  if (layout == Layout::masked_first_chunk) begin = kMlaChunk;
  if (layout == Layout::masked_last_chunk) end -= kMlaChunk;
  if (layout == Layout::short_length) end = in.lengths[at(row)] = o.topk / 2 + 3;  // inside a chunk
  if (layout == Layout::empty) return;
  const std::vector<std::int32_t> slots =
      choose_slots(in.pages[at(request)], o.page_size, visible, std::min(visible, end - begin), random);
  std::int32_t* list = in.indices.data() + std::int64_t{row} * o.topk;
  std::copy(slots.begin(), slots.end(), list + begin);
  if (layout != Layout::gaps) return;
  for (std::int32_t i = 0; i < o.topk; ++i)
    if (random() % 4 == 0) list[i] = -1;
}

/// Rows are request-major, as in the attention steps; a row sees the tokens up to its own.
void lay_lists(const StepOptions& o, MlaInputs& in, std::mt19937_64& random) {
  in.indices.assign(at(o.bucket_rows()) * at(o.topk), -1);
  in.lengths.assign(at(o.bucket_rows()), 0);
  std::fill_n(in.lengths.begin(), o.rows, o.topk);
  std::int32_t row = 0;
  for (std::int32_t request = 0; request < o.requests; ++request) {
    const std::int32_t n = o.rows / o.requests + (request < o.rows % o.requests ? 1 : 0);
    for (std::int32_t i = 0; i < n; ++i, ++row)
      lay_row(o, in, row, request, std::clamp(o.context - n + i + 1, 0, o.context), random);
  }
}

/// A token's slot that no row attends, where there is one, else one of a page that nobody owns.
std::int32_t unattended_slot(const StepOptions& o, const MlaPoolView& shape, const MlaInputs& in) {
  for (const auto& pages : in.pages)
    for (std::int32_t token = 0; token < o.context; ++token) {
      const std::int32_t slot = pages[at(token / o.page_size)] * o.page_size + token % o.page_size;
      if (!in.attends(shape, slot)) return slot;
    }
  return in.unused_pages.front() * o.page_size;
}

void lay_stale_entries(const StepOptions& o, const MlaPoolView& shape, MlaInputs& in) {
  in.attended_slot.assign(at((shape.pages - in.first_page) * shape.page_size), false);
  for (std::int32_t row = 0; row < o.rows; ++row)
    for (const std::int64_t slot : attended_slots(o, in, row))
      in.attended_slot[at(slot - in.first_page * shape.page_size)] = true;
  in.stale_slot = unattended_slot(o, shape, in);
  for (std::int32_t row = 0; row < o.rows; ++row) {
    const auto list = in.indices.begin() + std::int64_t{row} * o.topk;
    std::fill(list + in.lengths[at(row)], list + o.topk, in.stale_slot);
  }
}

void write_records(const StepOptions& o, const MlaPoolView& shape, MlaInputs& in, std::mt19937_64& random) {
  MlaPoolView window = shape;
  window.pages = shape.pages - in.first_page;
  in.pool.assign(window.bytes(), std::byte{0});
  window.data = in.pool.data();
  std::normal_distribution<float> normal;
  std::vector<float> values(at(shape.dim()));
  for (const auto& pages : in.pages)
    for (std::int32_t token = 0; token < o.context; ++token) {
      std::generate(values.begin(), values.end(), [&] { return normal(random); });
      const std::int64_t page = pages[at(token / o.page_size)] - in.first_page;
      encode_mla_record(window, page * o.page_size + token % o.page_size, values);
    }
}

}  // namespace

std::int32_t mla_pages_used(const StepOptions& o) {
  return (o.context + o.page_size - 1) / o.page_size;
}

MlaPoolView mla_pool_shape(const StepOptions& o) {
  MlaPoolView shape;
  shape.pages = 1 + kUnusedPages + owned_pages(o);
  if (o.faults.has(Fault::split_int32_offsets)) shape.pages = std::max(shape.pages, kPagesPast2Gib);
  shape.page_size = o.page_size;
  shape.record = o.record;
  return shape;
}

MlaInputs make_mla_inputs(const StepOptions& o) {
  std::mt19937_64 random(o.seed);
  std::normal_distribution<float> normal;
  const MlaPoolView shape = mla_pool_shape(o);
  MlaInputs in;
  in.rows = {o.rows};
  take_pages(o, shape, in, random);
  lay_lists(o, in, random);
  lay_stale_entries(o, shape, in);
  const std::int64_t row_values = std::int64_t{o.heads} * shape.dim();
  in.q.assign(at(o.bucket_rows() * row_values) * 2, std::byte{0});
  for (std::int64_t i = 0; i < o.rows * row_values; ++i) store_from_float(in.q.data(), Dtype::bf16, i, normal(random));
  if (o.sinks)
    for (std::int32_t head = 0; head < o.heads; ++head) in.sinks.push_back(normal(random));
  write_records(o, shape, in, random);
  return in;
}

std::vector<std::int64_t> attended_slots(const StepOptions& o, const MlaInputs& in, std::int32_t row) {
  std::vector<std::int64_t> slots;
  const auto list = in.indices.begin() + std::int64_t{row} * o.topk;
  std::copy_if(list, list + in.lengths[at(row)], std::back_inserter(slots),
               [](std::int32_t slot) { return slot >= 0; });
  return slots;
}

}  // namespace refrain
