// Division by the page size: against plain division, at every page's edges and where
// tokens end.
#include "kernels/page_division.hpp"

#include <climits>
#include <cstdint>

#include "tests/catch.hpp"
#include "tests/kernels/scene.hpp"

using namespace refrain;
using namespace refrain::test;

namespace {

/// Of the tokens beside the edges of pages at both ends of all tokens, and of pages in between, one that does not
/// divide as it should; -1 where all do.
std::int64_t wrong_token(std::int32_t page_size, Rng& rng) {
  const PageDivision division(page_size);
  const auto is_wrong = [&](std::int64_t token) {
    return token >= 0 && token <= INT32_MAX && division(static_cast<std::int32_t>(token)) != token / page_size;
  };
  const std::int64_t pages = std::int64_t{INT32_MAX} / page_size;
  for (std::int64_t i = 0; i < 60; ++i)
    for (const std::int64_t page :
         {i, pages - i, static_cast<std::int64_t>(rng() % static_cast<std::uint64_t>(pages + 1))})
      for (std::int64_t beside = -1; beside <= 1; ++beside)
        if (is_wrong(page * page_size + beside)) return page * page_size + beside;
  return is_wrong(INT32_MAX) ? INT32_MAX : -1;
}

void require_divides(std::int32_t page_size, Rng& rng) {
  CAPTURE(page_size);
  REQUIRE(wrong_token(page_size, rng) == -1);
}

}  // namespace

TEST_CASE("page division: every page size up to 4,100 divides as plain division does") {
  Rng rng(fresh_seed());
  for (std::int32_t page_size = 2; page_size <= 4100; ++page_size) require_divides(page_size, rng);
}

TEST_CASE("page division: page sizes beside powers of two, and the largest") {
  Rng rng(fresh_seed());
  for (int bits = 12; bits < 31; ++bits)
    for (std::int32_t beside = -3; beside <= 3; ++beside) require_divides((1 << bits) + beside, rng);
  for (std::int32_t below = 0; below < 100; ++below) require_divides(INT32_MAX - below, rng);
}
