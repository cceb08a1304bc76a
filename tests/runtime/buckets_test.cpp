// Bucket policies: the bound itself over every n and many maxima, and the lists that
// follow from the documented rule, written out by hand.
#include "runtime/buckets.hpp"

#include <algorithm>
#include <vector>

#include "graphs/error.hpp"
#include "tests/catch.hpp"

using namespace refrain;

namespace {

std::vector<std::int32_t> list(const BucketPolicy& policy) {
  return {policy.sizes().begin(), policy.sizes().end()};
}

/// Rising, complete, and within the bound, by a search that shares nothing with bucket_for.
void check_property(const BucketPolicy& policy, std::int32_t maximum) {
  const std::vector<std::int32_t> sizes = list(policy);
  CHECK(sizes.front() >= 1);
  CHECK(sizes.back() == maximum);
  CHECK(policy.maximum() == maximum);
  CHECK(std::adjacent_find(sizes.begin(), sizes.end(), std::greater_equal<>()) == sizes.end());
  bool holds = true;
  for (std::int32_t n = 1; n <= maximum; ++n) {
    std::int32_t smallest = maximum;
    for (const std::int32_t size : sizes)
      if (size >= n && size < smallest) smallest = size;
    const std::int32_t bucket = policy.bucket_for(n), pads = bucket - n;
    holds =
        holds && bucket == smallest && pads >= 0 && (pads <= 1 || 8 * pads <= n) && pads <= policy.pads_allowed(bucket);
  }
  INFO("maximum " << maximum);
  CHECK(holds);
}

std::string refusal(const BucketPolicy& policy, std::int32_t n) {
  try {
    (void)policy.bucket_for(n);
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::refused);
    return error.what();
  }
  return {};
}

}  // namespace

TEST_CASE("buckets: every count has a bucket that pads it by an eighth or by one row at most") {
  for (std::int32_t maximum = 1; maximum <= 300; ++maximum) {
    check_property(BucketPolicy::decode_rows(maximum), maximum);
    check_property(BucketPolicy::prefill_tokens(maximum), maximum);
  }
  for (const std::int32_t maximum : {512, 1000, 2048, 8191, 8192, 8193, 16384}) {
    check_property(BucketPolicy::decode_rows(maximum), maximum);
    check_property(BucketPolicy::prefill_tokens(maximum), maximum);
  }
}

TEST_CASE("buckets: the list goes up by one to 6 and by two to 16 and then has eight sizes an octave") {
  CHECK(list(BucketPolicy::decode_rows(40)) ==
        std::vector<std::int32_t>{1, 2, 3, 4, 5, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30, 32, 36, 40});
  CHECK(BucketPolicy::decode_rows(512).sizes().size() == 11 + 5 * 8);      // 16 to 512 is five octaves
  CHECK(BucketPolicy::prefill_tokens(2048).sizes().size() == 11 + 7 * 8);  // and 16 to 2,048 seven
}

TEST_CASE("buckets: a maximum that is not on the list ends it") {
  CHECK(list(BucketPolicy::decode_rows(19)).back() == 19);
  CHECK(BucketPolicy::decode_rows(19).bucket_for(19) == 19);
  CHECK(BucketPolicy::decode_rows(37).bucket_for(37) == 37);
  CHECK(BucketPolicy::decode_rows(37).bucket_for(36) == 36);
}

TEST_CASE("buckets: the pads that are allowed are the most that keep the bound") {
  const BucketPolicy policy = BucketPolicy::decode_rows(512);
  for (std::int32_t size = 1; size <= 512; ++size) {
    std::int32_t most = 0;
    for (std::int32_t pads = 0; pads < size; ++pads)
      if (pads <= 1 || 8 * pads <= size - pads) most = pads;
    CHECK(policy.pads_allowed(size) == most);
  }
}

TEST_CASE("buckets: each count of query tokens of a verification has a bucket of its own") {
  const BucketPolicy policy = BucketPolicy::verify_lengths(4);
  CHECK(list(policy) == std::vector<std::int32_t>{1, 2, 3, 4, 5});
  for (std::int32_t n = 1; n <= 5; ++n) {
    CHECK(policy.bucket_for(n) == n);
    CHECK(policy.pads_allowed(n) == 0);
  }
  CHECK(list(BucketPolicy::verify_lengths(0)) == std::vector<std::int32_t>{1});
}

TEST_CASE("buckets: counts over the maximum and below one are refused with the largest bucket and a way out") {
  CHECK(refusal(BucketPolicy::decode_rows(24), 25) ==
        "a bucket for 25 rows: expected 1 to 24, the largest bucket; split the batch, or make a policy of a larger "
        "maximum");
  CHECK(refusal(BucketPolicy::prefill_tokens(2048), 0).find("a bucket for 0 tokens") == 0);
  CHECK(refusal(BucketPolicy::verify_lengths(3), 5).find("expected 1 to 4") != std::string::npos);
}
