#include "runtime/page_allocator.hpp"

#include <random>
#include <set>

#include "graphs/error.hpp"
#include "tests/catch.hpp"

using namespace refrain;

TEST_CASE("page allocator: every page but the null block is handed out once and a full pool refuses") {
  PageAllocator pool(9);
  CHECK(pool.total() == 8);
  std::set<std::int32_t> pages;
  for (int i = 0; i < 8; ++i) pages.insert(pool.take());
  CHECK(pages == std::set<std::int32_t>{1, 2, 3, 4, 5, 6, 7, 8});
  CHECK_THROWS_AS(pool.take(), Error);
  pool.give_back(5);
  CHECK(pool.free() == 1);
  CHECK(pool.take() == 5);
}

TEST_CASE("page allocator: a pool of the null block alone has no page to give") {
  PageAllocator pool(1);
  CHECK(pool.free() == 0);
  CHECK(pool.taken(kNullBlock));
  CHECK_THROWS_AS(pool.take(), Error);
}

TEST_CASE("page allocator: it always hands out the lowest free page") {
  std::mt19937_64 random(Catch::rngSeed());
  PageAllocator pool(40);
  std::set<std::int32_t> free, taken;
  for (std::int32_t page = 1; page < 40; ++page) free.insert(page);
  for (int i = 0; i < 2000; ++i) {
    const bool take = taken.empty() || (!free.empty() && random() % 2 == 0);
    if (take) {
      const std::int32_t page = pool.take();
      CHECK(page == *free.begin());
      free.erase(page);
      taken.insert(page);
    } else {
      const auto chosen = std::next(taken.begin(), static_cast<std::ptrdiff_t>(random() % taken.size()));
      pool.give_back(*chosen);
      free.insert(*chosen);
      taken.erase(chosen);
    }
    CHECK(pool.free() == static_cast<std::int64_t>(free.size()));
  }
}
