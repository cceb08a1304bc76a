#include "bench/soak_variants.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>
#include <span>
#include <utility>

#include "kernels/plan_grouped.hpp"

namespace refrain::bench {
namespace {

constexpr std::uint64_t kAlignment = 256;
constexpr std::uint64_t kSeed = 13;

std::size_t at(std::int64_t index) {
  return static_cast<std::size_t>(index);
}

std::int32_t between(std::int32_t least, std::int32_t most, std::mt19937_64& random) {
  return std::uniform_int_distribution<std::int32_t>(least, most)(random);
}

/// The request of each real row, ascending.
std::vector<std::int32_t> place_rows(const StepOptions& o, std::size_t variant, std::mt19937_64& random) {
  std::vector<std::int32_t> request(at(variant == 0   ? o.bucket_rows()
                                       : variant == 1 ? o.requests
                                                      : between(1, o.bucket_rows(), random)));
  for (std::size_t row = 0; row < request.size(); ++row)
    request[row] = variant < 2 ? static_cast<std::int32_t>(row) % o.requests : between(0, o.requests - 1, random);
  std::sort(request.begin(), request.end());
  return request;
}

/// Every third variant is a short one: what a longer one left behind its lengths must not matter.
std::int32_t length_of(const StepOptions& o, std::size_t variant, std::int32_t rows, std::mt19937_64& random) {
  const std::int32_t least = std::max(rows, 1);
  if (variant == 0) return o.context;
  if (variant == 1) return least;
  return between(least, variant % 3 == 0 ? std::min(o.context, least + 2 * o.page_size) : o.context, random);
}

/// Some of the complete blocks below `visible` tokens, ascending, and the tail after them.
void select(std::int32_t* out, std::int64_t visible, bool all, std::mt19937_64& random) {
  const auto complete = static_cast<std::int32_t>(visible / kMicroblockTokens);
  std::vector<std::int32_t> blocks(at(complete)), chosen;
  std::iota(blocks.begin(), blocks.end(), 0);
  const std::int32_t most = std::min(complete, kSelectedBlocks);
  std::sample(blocks.begin(), blocks.end(), std::back_inserter(chosen),
              all || most == 0 ? most : between(1, most, random), random);
  for (const std::int32_t block : chosen)
    for (std::int32_t i = 0; i < kMicroblockTokens; ++i) *out++ = kMicroblockTokens * block + i;
  for (std::int64_t token = visible / kMicroblockTokens * kMicroblockTokens; token < visible; ++token)
    *out++ = static_cast<std::int32_t>(token);
}

/// As AttentionInputs has them.
struct Tables {
  std::vector<std::int32_t> rows, token_to_req, seq_len, page_table, selected;
  std::vector<std::int64_t> query_pos;
};

void place_pages(const AttentionBuffers& b, Tables& t, std::mt19937_64& random) {
  const StepOptions& o = b.options;
  std::vector<std::int32_t> pages;
  for (const auto& of_request : b.pages) pages.insert(pages.end(), of_request.begin(), of_request.end());
  std::shuffle(pages.begin(), pages.end(), random);
  auto next = pages.begin();
  for (std::int32_t request = 0; request < o.requests; ++request) {
    const std::int32_t used = (t.seq_len[at(request)] + o.page_size - 1) / o.page_size;
    std::copy_n(next, used, t.page_table.begin() + std::int64_t{request} * b.batch().pages_per_request);
    next += used;
  }
}

Tables make_tables(const AttentionBuffers& b, std::size_t variant, std::mt19937_64& random) {
  const StepOptions& o = b.options;
  const std::size_t bucket = at(o.bucket_rows());
  const std::vector<std::int32_t> requests = place_rows(o, variant, random);
  Tables t;
  t.rows = {static_cast<std::int32_t>(requests.size())};
  t.token_to_req.assign(bucket, -1);
  t.query_pos.assign(bucket, -1);
  t.page_table.assign(at(o.requests) * at(b.batch().pages_per_request), -1);
  t.selected.assign(bucket * kSelectedWidth, -1);
  std::copy(requests.begin(), requests.end(), t.token_to_req.begin());
  for (std::int32_t request = 0; request < o.requests; ++request) {
    const auto [first, last] = std::equal_range(requests.begin(), requests.end(), request);
    const auto count = static_cast<std::int32_t>(last - first);
    t.seq_len.push_back(length_of(o, variant, count, random));
    for (std::int32_t i = 0; i < count; ++i) {
      const std::size_t row = at(first - requests.begin()) + at(i);
      t.query_pos[row] = t.seq_len.back() - count + i;
      select(t.selected.data() + row * kSelectedWidth, t.query_pos[row] + 1, variant % 2 == 0, random);
    }
  }
  place_pages(b, t, random);
  return t;
}

}  // namespace

void Variants::add(const Lease& to, std::uint64_t bytes) {
  tables_.push_back({to.address(), stride_, bytes});
  stride_ += (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

Variants::Variants(Driver& driver, const AttentionBuffers& b, std::size_t count) : driver_(driver), count_(count) {
  std::mt19937_64 random(kSeed);
  std::vector<Tables> all;
  for (std::size_t variant = 0; variant < count; ++variant) all.push_back(make_tables(b, variant, random));
  const auto spans = [](const Tables& t) {
    return std::vector{std::as_bytes(std::span(t.rows)),       std::as_bytes(std::span(t.token_to_req)),
                       std::as_bytes(std::span(t.query_pos)),  std::as_bytes(std::span(t.seq_len)),
                       std::as_bytes(std::span(t.page_table)), std::as_bytes(std::span(t.selected))};
  };
  const std::vector<const Lease*> leases = {&b.rows,    &b.token_to_req, &b.query_pos,
                                            &b.seq_len, &b.page_table,   &b.selected};
  for (std::size_t i = 0; i < leases.size(); ++i) add(*leases[i], spans(all.front())[i].size());
  check(driver_.allocate(stride_ * count, MemorySpace::pinned, block_), "cudaMallocHost");
  for (std::size_t variant = 0; variant < count; ++variant) {
    auto* const to = reinterpret_cast<std::byte*>(block_ + variant * stride_);
    const auto from = spans(all[variant]);
    for (std::size_t i = 0; i < from.size(); ++i) std::memcpy(to + tables_[i].offset, from[i].data(), from[i].size());
  }
}

Variants::~Variants() {
  (void)driver_.release(block_, MemorySpace::pinned);
}

void Variants::write(std::size_t variant, Stream stream) const {
  const Address from = block_ + variant * stride_;
  for (const Table& table : tables_)
    check(
        driver_.copy({table.to, MemorySpace::device}, {from + table.offset, MemorySpace::pinned}, table.bytes, stream),
        "cudaMemcpyAsync");
}

}  // namespace refrain::bench
