// The engine's parts by themselves: histograms, drafts, shapes, requests.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "runtime/engine/histogram.hpp"
#include "runtime/engine/prompt_lookup.hpp"
#include "runtime/engine/step_shapes.hpp"
#include "tests/catch.hpp"

using namespace refrain;

TEST_CASE("histogram: percentiles are never below the true ones and at most 1 in 32 above") {
  std::mt19937_64 random(Catch::rngSeed());
  for (const double deviation : {0.1, 1.0, 4.0}) {
    std::lognormal_distribution<double> values(10, deviation);
    Histogram histogram;
    std::vector<std::uint64_t> all;
    for (int i = 0; i < 5000; ++i) {
      all.push_back(static_cast<std::uint64_t>(values(random)));
      histogram.add(all.back());
    }
    std::sort(all.begin(), all.end());
    for (const double share : {0.001, 0.5, 0.9, 0.99, 1.0}) {
      const auto rank = static_cast<std::size_t>(std::ceil(share * 5000.0));
      const std::uint64_t exact = all[std::max<std::size_t>(rank, 1) - 1], got = histogram.percentile_ns(share);
      INFO(share << " of deviation " << deviation << ": " << got << " for " << exact);
      CHECK(got >= exact);
      CHECK(static_cast<double>(got) <= std::max(1.0, static_cast<double>(exact) * (1 + 1.0 / 32)));
    }
    CHECK(histogram.max_ns() == all.back());
    CHECK(histogram.count() == 5000);
    CHECK(histogram.sum_ns() == std::accumulate(all.begin(), all.end(), std::uint64_t{0}));
  }
}

TEST_CASE("histogram: counts up to a power of two are exact on both sides of it") {
  Histogram histogram;
  for (const std::uint64_t ns : {0ULL, 1ULL, 1024ULL, 1025ULL, 2048ULL, 2049ULL, 1ULL << 40}) histogram.add(ns, 2);
  CHECK(histogram.at_most_power(10) == 2 * 3);
  CHECK(histogram.at_most_power(11) == 2 * 5);
  CHECK(histogram.at_most_power(12) == 2 * 6);
  CHECK(histogram.at_most_power(40) == 2 * 7);
  CHECK(Histogram{}.percentile_ns(0.5) == 0);
}

namespace {

std::vector<std::int32_t> draft_of(const std::vector<std::int32_t>& tokens, std::int32_t most) {
  PromptLookup lookup;
  for (std::size_t n = 1; n <= tokens.size(); ++n) lookup.grown(std::span(tokens).first(n));
  return lookup.draft(tokens, most);
}

using Tokens = std::vector<std::int32_t>;

/// The same by search: the longest end of 4 to 2 tokens that stood before, at its most recent place.
Tokens searched(const Tokens& tokens, std::int32_t most) {
  for (std::size_t n = 4; n >= 2; --n)
    for (std::size_t at = tokens.size() - 1; at >= n && n < tokens.size(); --at)
      if (std::equal(tokens.end() - static_cast<std::ptrdiff_t>(n), tokens.end(),
                     tokens.begin() + static_cast<std::ptrdiff_t>(at - n))) {
        Tokens out(tokens.begin() + static_cast<std::ptrdiff_t>(at), tokens.end());
        out.resize(std::min(out.size(), static_cast<std::size_t>(most)));
        return out;
      }
  return {};
}

}  // namespace

TEST_CASE("prompt lookup: it drafts what followed the longest end seen before") {
  CHECK(draft_of({1, 2, 3, 9, 9, 1, 2}, 2) == Tokens{3, 9});
  CHECK(draft_of({1, 2, 3, 7, 2, 3, 8, 1, 2, 3}, 1) == Tokens{7});  // three tokens say more than two
  CHECK(draft_of({1, 2, 5, 1, 2, 6, 1, 2}, 1) == Tokens{6});        // the more recent of two
  CHECK(draft_of({1, 2, 3, 4}, 3).empty());
  CHECK(draft_of({1}, 3).empty());
  CHECK(draft_of({1, 2, 3, 1, 2}, 0).empty());
  CHECK(draft_of({4, 4, 4}, 5) == Tokens{4});  // no more than is known to follow
}

TEST_CASE("prompt lookup: it finds what a search finds") {
  std::mt19937_64 random(Catch::rngSeed());
  for (int i = 0; i < 500; ++i) {
    Tokens tokens(1 + random() % 40);
    for (std::int32_t& token : tokens) token = static_cast<std::int32_t>(random() % 4);
    CHECK(draft_of(tokens, 3) == searched(tokens, 3));
  }
}

TEST_CASE("step shapes: every batch that the limits allow has a shape that is among all") {
  ServingLimits limits;
  limits.decode_rows = 24;
  limits.prefill_tokens = 40;
  limits.prefill_requests = 4;
  limits.pages = 10;
  limits.verify_requests = 6;
  limits.drafts = 3;
  const StepShapes shapes(limits, true);
  const std::vector<StepShape> all = shapes.all();
  const auto known = [&](const StepShape& s) {
    return std::count_if(all.begin(), all.end(), [&](const StepShape& o) {
             return o.phase == s.phase && o.rows == s.rows && o.requests == s.requests &&
                    o.query_length == s.query_length;
           }) == 1;
  };
  for (std::int32_t rows = 1; rows <= 40; ++rows) {
    const StepShape s = shapes.prefill(rows);
    CHECK(known(s));
    CHECK(s.rows >= rows);
    CHECK(s.requests >= std::min(rows, 4));
  }
  for (std::int32_t n = 1; n <= 24; ++n) CHECK(known(shapes.decode(n)));
  for (std::int32_t n = 1; n <= 6; ++n)
    for (std::int32_t q = 2; q <= 4; ++q) {
      const StepShape s = shapes.verify(n, q);
      CHECK(known(s));
      CHECK(s.rows == s.requests * q);
    }
  for (const StepShape& s : StepShapes(limits, false).all()) CHECK(s.phase != Phase::verify);
}
