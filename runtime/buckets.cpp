#include "runtime/buckets.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cassert>

#include "graphs/error.hpp"

namespace refrain {
namespace {

std::int32_t step_after(std::int32_t size) {
  constexpr std::int32_t kByOne = 6;  // from here on one row of padding is less than a fifth of the bucket
  const auto eighth = static_cast<std::int32_t>(std::bit_floor(static_cast<std::uint32_t>(size))) / 8;
  return std::max(size < kByOne ? 1 : 2, eighth);
}

std::vector<std::int32_t> sizes_up_to(std::int32_t maximum) {
  assert(maximum >= 1);
  std::vector<std::int32_t> sizes;
  for (std::int32_t size = 1; size < maximum; size += std::min(step_after(size), maximum - size)) sizes.push_back(size);
  sizes.push_back(maximum);
  return sizes;
}

}  // namespace

BucketPolicy BucketPolicy::decode_rows(std::int32_t maximum) {
  return {"rows", true, sizes_up_to(maximum)};
}

BucketPolicy BucketPolicy::prefill_tokens(std::int32_t chunk) {
  return {"tokens", true, sizes_up_to(chunk)};
}

BucketPolicy BucketPolicy::verify_lengths(std::int32_t max_drafts) {
  assert(max_drafts >= 0);
  std::vector<std::int32_t> sizes;
  for (std::int32_t drafts = 0; drafts <= max_drafts; ++drafts) sizes.push_back(1 + drafts);
  return {"query tokens", false, std::move(sizes)};
}

std::int32_t BucketPolicy::bucket_for(std::int32_t n) const {
  const auto found = std::lower_bound(sizes_.begin(), sizes_.end(), n);
  if (n < 1 || found == sizes_.end())
    throw Error(
        ErrorKind::refused, fmt::format("a bucket for {} {}", n, unit_),
        fmt::format("expected 1 to {}, the largest bucket; split the batch, or make a policy of a larger maximum",
                    maximum()),
        "");
  return *found;
}

std::int32_t BucketPolicy::pads_allowed(std::int32_t size) const noexcept {
  // p pads of size - p rows: 8 p <= size - p.
  return pads_ ? std::min(size - 1, std::max(1, size / 9)) : 0;
}

}  // namespace refrain
