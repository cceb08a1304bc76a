#include "kernels/page_split.hpp"

#include <algorithm>
#include <cassert>

#include "kernels/host_twins.hpp"
#include "kernels/launchers.hpp"
#include "kernels/touch_inputs.hpp"

namespace refrain {
namespace {

void assert_shape([[maybe_unused]] const PageSplitArgs& args) {
  assert(args.source.record == MlaRecord::e4m3_584 && args.scratch.record == MlaRecord::e4m3_584);
  assert(args.source.page_size == kSplitSourceTokens && args.scratch.page_size == kSplitTokens);
  assert(args.source.pages > 0 && args.scratch.pages == args.source.pages * kSplitParts);
  assert(args.rows > 0 && args.topk > 0);
}

/// What one pool's pages from `first` on are touched as. Everything an index may name is a `may`.
struct PagesTouched {
  const MlaPoolView& pool;
  std::int64_t first;
  Mode mode;
  Role role;
  Dtype dtype;
};

void touch_pages(Contract& contract, const PagesTouched& touched, std::int64_t from, std::int64_t to) {
  if (from >= to) return;
  contract.accesses.push_back({.base = reinterpret_cast<Address>(touched.pool.data),
                               .range = {static_cast<std::uint64_t>(from), static_cast<std::uint64_t>(to)},
                               .mode = touched.mode,
                               .reach = Reach::may,
                               .role = touched.role,
                               .dtype = touched.dtype});
}

/// The offsets on either side of the pool's first byte lie 4 GiB apart, so they are two accesses. The ones below it
/// belong to whatever lies there: a range starts at its base, so that access has the lowest byte as its own.
void touch_wrapped_pages(Contract& contract, const PagesTouched& touched) {
  std::int64_t low_above = INT64_MAX, high_above = INT64_MIN, low_below = 0, high_below = INT64_MIN;
  const std::int64_t bytes = touched.pool.page_bytes();
  for (std::int64_t page = touched.first; page < touched.pool.pages; ++page) {
    const std::int64_t offset = split_page_offset(page, bytes, true);
    std::int64_t& high = offset < 0 ? high_below : high_above;
    std::int64_t& low = offset < 0 ? low_below : low_above;
    low = std::min(low, offset);
    high = std::max(high, offset + bytes);
  }
  touch_pages(contract, touched, low_above, high_above);
  if (low_below == 0) return;
  touch_pages(contract, touched, 0, high_below - low_below);
  contract.accesses.back().base += static_cast<Address>(low_below);
}

void touch_pool(Contract& contract, const PagesTouched& touched, bool int32_offsets) {
  if (int32_offsets) return touch_wrapped_pages(contract, touched);
  const std::int64_t bytes = touched.pool.page_bytes();
  touch_pages(contract, touched, touched.first * bytes, touched.pool.pages * bytes);
}

void touch_mask(Contract& contract, const PageSplitArgs& args) {
  const auto pages = elements(args.source.pages);
  const Mode mode = args.zero_touched ? Mode::write : Mode::read_write;
  contract.accesses.push_back(touch(args.touched, pages, mode, Role::scratch, Dtype::u8));
  if (!args.zero_touched) contract.needs.push_back(claim(Fact::zeroed, args.touched, pages));
}

void zero_page0(Contract& contract, const PageSplitArgs& args) {
  const auto bytes = elements(args.scratch.page_bytes());
  contract.accesses.push_back(touch(args.scratch.data, bytes, Mode::write, Role::scratch, Dtype::u8));
  contract.gives.push_back(claim(Fact::zeroed, args.scratch.data, bytes));
}

Contract page_split_contract(const PageSplitArgs& args) {
  assert_shape(args);
  const auto rows = elements(args.rows);
  Contract contract;
  contract.accesses.push_back(read_input(args.indices, rows * elements(args.topk), Dtype::i32));
  if (args.lengths != nullptr) contract.accesses.push_back(read_input(args.lengths, rows, Dtype::i32));
  contract.accesses.push_back(read_input(args.real_rows, 1, Dtype::i32));
  touch_mask(contract, args);
  if (args.zero_page0) zero_page0(contract, args);
  // Bytes, not numbers: a record that holds a NaN is moved here, not made.
  touch_pool(contract, {args.source, 1, Mode::read, Role::kv_pool, Dtype::e4m3}, args.int32_offsets);
  touch_pool(contract, {args.scratch, kSplitParts, Mode::write, Role::scratch, Dtype::u8}, args.int32_offsets);
  return contract;
}

}  // namespace

const Op<PageSplitArgs> page_split = {
    .name = "page_split", .contract = page_split_contract, .host = page_split_host, .launch = page_split_launch};

}  // namespace refrain
