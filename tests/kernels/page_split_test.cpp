#include "kernels/page_split.hpp"

#include <climits>

#include "tests/catch.hpp"
#include "tests/kernels/check_writes.hpp"
#include "tests/kernels/scene.hpp"
#include "tests/kernels/split_scene.hpp"

using namespace refrain;
using namespace refrain::test;

namespace {

/// Runs the twin and requires that `copied` were copied and nothing else, that `marked` are the marks, and that the
/// op kept its contract.
void require_split(SplitScene& scene, const std::vector<std::size_t>& copied, const std::vector<std::size_t>& marked) {
  const std::vector<std::byte> before = scene.scratch_bytes();
  run_checked(page_split, scene.args, scene.memory);
  REQUIRE((scene.scratch_bytes() == scene.expected(before, copied)));
  REQUIRE((scene.mask() == scene.expected_mask(marked)));
}

}  // namespace

TEST_CASE("page_split: pages have the published strides and a slot keeps its number") {
  const MlaPoolView source{nullptr, 3, 256, MlaRecord::e4m3_584}, scratch{nullptr, 12, 64, MlaRecord::e4m3_584};
  CHECK(source.page_bytes() == 149'760);
  CHECK(scratch.page_bytes() == 37'440);
  for (const std::int64_t slot : {0, 63, 64, 255, 256, 300, 511, 512, 767}) {
    const std::int64_t p = slot / 256, t = slot % 256;
    CHECK(source.record_offset(slot) == 149'760 * p + 576 * t);
    CHECK(source.footer_offset(slot) == 149'760 * p + 147'456 + 8 * t);
    CHECK(scratch.record_offset(slot) == 37'440 * (4 * p + t / 64) + 576 * (t % 64));
    CHECK(scratch.footer_offset(slot) == 37'440 * (4 * p + t / 64) + 36'864 + 8 * (t % 64));
  }
}

TEST_CASE(
    "page_split: touched pages are copied to the byte and untouched ones keep what they held and page 0 is zero") {
  const std::uint64_t seed = fresh_seed();
  INFO("seed " << seed);
  Rng rng(seed);
  SplitScene scene(9, 3, 8, rng);
  scene.indices[0] = 256 * 2 + 255;      // the last slot of page 2
  scene.indices[7] = 256 * 5;            // the first of page 5
  scene.indices[8 + 3] = 256 * 5 + 130;  // page 5 again, another row
  scene.indices[16 + 1] = 9 * 256 - 1;   // the pool's last slot
  const std::vector<std::size_t> pages = {2, 5, 8};
  require_split(scene, pages, pages);
}

TEST_CASE("page_split: a token's record and footer are found by its slot in the source and in the scratch") {
  Rng rng(fresh_seed());
  SplitScene scene(4, 1, 3, rng);
  for (std::int32_t i = 0; i < 3; ++i) scene.indices[i] = 256 * (i + 1);
  page_split.host(scene.args);
  for (std::int64_t slot = 256; slot < 4 * 256; ++slot) {
    REQUIRE(std::memcmp(scene.args.scratch.data + scene.args.scratch.record_offset(slot),
                        scene.args.source.data + scene.args.source.record_offset(slot), 576) == 0);
    REQUIRE(std::memcmp(scene.args.scratch.data + scene.args.scratch.footer_offset(slot),
                        scene.args.source.data + scene.args.source.footer_offset(slot), 8) == 0);
  }
}

TEST_CASE("page_split: source page 0 is marked when it is named and never copied") {
  Rng rng(fresh_seed());
  SplitScene scene(3, 1, 4, rng);
  for (std::int32_t i = 0; i < 4; ++i) scene.indices[i] = 64 * i;  // all four quarters of the null block
  require_split(scene, {}, {0});
}

TEST_CASE("page_split: entries that are no slot touch nothing") {
  Rng rng(fresh_seed());
  for (const std::int32_t bad : {-1, -256, INT_MIN, INT_MAX, 4 * 256, 4 * 256 + 1}) {
    CAPTURE(bad);
    SplitScene scene(4, 2, 4, rng);
    std::fill_n(scene.indices, 8, bad);
    scene.indices[5] = 700;
    require_split(scene, {2}, {2});
  }
}

TEST_CASE("page_split: entries past a row's length touch nothing whatever they hold") {
  Rng rng(fresh_seed());
  for (const std::int32_t garbage : {INT_MAX, INT_MIN, 256 * 3 + 5 /* a stale slot, valid by itself */}) {
    SplitScene scene(6, 3, 4, rng);
    std::fill_n(scene.indices, 12, garbage);
    scene.indices[0] = 256 * 1, scene.indices[1] = 256 * 2, scene.indices[8] = 256 * 4;
    scene.lengths[0] = 2, scene.lengths[1] = 0, scene.lengths[2] = 1;
    require_split(scene, {1, 2, 4}, {1, 2, 4});
    scene.lengths[0] = 1, scene.lengths[2] = -7;
    require_split(scene, {1}, {1});
  }
}

TEST_CASE("page_split: without lengths every entry counts and a length beyond topk does not reach further") {
  Rng rng(fresh_seed());
  SplitScene scene(6, 2, 2, rng);
  scene.indices[1] = 256 * 3;
  scene.indices[3] = 256 * 5;
  scene.lengths[0] = INT_MAX;
  scene.lengths[1] = 1;
  require_split(scene, {3}, {3});
  scene.args.lengths = nullptr;
  require_split(scene, {3, 5}, {3, 5});
}

TEST_CASE("page_split: pad rows touch nothing however many rows are said to be real") {
  Rng rng(fresh_seed());
  const std::vector<std::size_t> pages[] = {{}, {}, {1}, {1, 2}, {1, 2}};
  const std::int32_t real[] = {-3, 0, 1, 2, 99};
  for (std::size_t i = 0; i < std::size(real); ++i) {
    CAPTURE(real[i]);
    SplitScene scene(4, 2, 1, rng);
    scene.indices[0] = 256, scene.indices[1] = 512;
    *scene.real_rows = real[i];
    require_split(scene, pages[i], pages[i]);
  }
}

TEST_CASE("page_split: random lists mark and copy what a person would mark and copy") {
  const std::uint64_t seed = fresh_seed();
  INFO("seed " << seed);
  Rng rng(seed);
  for (int round = 0; round < 4; ++round) {
    SplitScene scene(12, 7, 33, rng);
    std::vector<std::size_t> marked, copied;
    std::vector<bool> named(12);
    *scene.real_rows = static_cast<std::int32_t>(rng() % 8);
    for (std::int32_t row = 0; row < 7; ++row) {
      scene.lengths[row] = static_cast<std::int32_t>(rng() % 4);
      for (std::int32_t i = 0; i < 33; ++i) {
        const auto slot = static_cast<std::int32_t>(rng() % (13 * 256)) - 128;
        scene.indices[33 * row + i] = slot;
        const bool counts = row < *scene.real_rows && i < scene.lengths[row] && slot >= 0 && slot < 12 * 256;
        if (counts) named[static_cast<std::size_t>(slot / 256)] = true;
      }
    }
    for (std::size_t page = 0; page < 12; ++page) {
      if (named[page]) marked.push_back(page);
      if (named[page] && page != 0) copied.push_back(page);
    }
    require_split(scene, copied, marked);
  }
}

TEST_CASE("page_split: a second run forgets the first one's pages and keeps their old copies") {
  Rng rng(fresh_seed());
  SplitScene scene(4, 1, 1, rng);
  scene.indices[0] = 256;
  require_split(scene, {1}, {1});
  scene.args.source.data[kSourcePage] ^= std::byte{0xFF};  // page 1 moves on; its copy is not asked for again
  scene.indices[0] = 512;
  require_split(scene, {2}, {2});
}

TEST_CASE("page_split: without the clearing a stale mask copies stale pages and page 0 keeps its poison") {
  Rng rng(fresh_seed());
  SplitScene scene(4, 1, 1, rng);
  scene.indices[0] = 256;
  const std::vector<std::byte> before = scene.scratch_bytes();
  scene.args.zero_touched = false;
  page_split.host(scene.args);  // the mask held 0xFF: every page counts as touched
  CHECK((scene.scratch_bytes() == scene.expected(before, {1, 2, 3})));
  CHECK((scene.mask() == std::vector<std::uint8_t>{0xFF, 1, 0xFF, 0xFF}));

  SplitScene other(4, 1, 1, rng);
  other.indices[0] = 256;
  other.args.zero_page0 = false;
  page_split.host(other.args);
  CHECK((other.scratch_bytes() == other.expected(before, {1}, false)));
  CHECK(other.args.scratch.data[0] == std::byte{0xFF});
  CHECK(other.args.scratch.data[kScratchPage - 1] == std::byte{0xFF});
}
