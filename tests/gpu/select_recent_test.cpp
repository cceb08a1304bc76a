// select_recent and select_slots on the device: every entry as the twin writes it.
#include <climits>

#include "tests/catch.hpp"
#include "tests/gpu/device_run.hpp"
#include "tests/kernels/scene.hpp"

using namespace refrain;
using namespace refrain::test;

namespace {

SceneShape shape_of(std::int32_t page_size) {
  return {.lengths = {2600, 37, 3, 9000}, .rows = {9, 14, 3, 20}, .pad_rows = 4, .page_size = page_size, .dim = 8};
}

SelectSlotsArgs slots_of(Scene& scene, std::int32_t sinks, std::int32_t topk) {
  return {.batch = scene.batch,
          .pool = {.pages = scene.pool.pages, .page_size = scene.pool.page_size, .record = MlaRecord::bf16},
          .sinks = sinks,
          .topk = topk,
          .indices = scene.memory.take<std::int32_t>(std::int64_t{scene.batch.bucket} * topk),
          .lengths = scene.memory.take<std::int32_t>(scene.batch.bucket)};
}

/// Bad pages, requests and positions.
void damage(Scene& scene, Rng& rng) {
  const std::int32_t bad_pages[] = {0, -1, INT_MAX, INT_MIN, static_cast<std::int32_t>(scene.pool.pages)};
  const auto entries = static_cast<std::uint64_t>(scene.batch.requests * scene.batch.pages_per_request);
  for (int i = 0; i < 20; ++i) scene.page_table[rng() % entries] = bad_pages[i % 5];
  const std::int32_t bad_requests[] = {-1, 4, INT_MAX};
  const std::int64_t bad_positions[] = {-1, INT64_MAX, INT64_MIN};
  for (std::size_t i = 0; i < 3; ++i) {
    scene.token_to_req[5 * i] = bad_requests[i];
    scene.query_pos[5 * i + 1] = bad_positions[i];
  }
}

}  // namespace

TEST_CASE("select_recent on the device: every count of sinks gives the twin's selection") {
  Rng rng(fresh_seed());
  for (const bool damaged : {false, true})
    for (const std::int32_t sinks : {0, 1, 7, 99, 512}) {
      CAPTURE(damaged, sinks);
      Scene scene(shape_of(32), rng);
      if (damaged) damage(scene, rng);
      const SelectRecentArgs args{
          .batch = scene.batch, .blocks = sinks == 99 ? 100 : 512, .sinks = sinks, .selected = scene.selected};
      for (const std::int32_t rows : {46, 50, 7, 0, -1, 1000}) {
        *scene.rows = rows;
        require_as_twin(select_recent, args, scene.memory);
      }
    }
}

TEST_CASE("select_slots on the device: every page size and width gives the twin's lists") {
  Rng rng(fresh_seed());
  for (const bool damaged : {false, true})
    for (const std::int32_t page_size : {4, 64, 256})
      for (const std::int32_t topk : {1, 64, 2048, 4096}) {
        CAPTURE(damaged, page_size, topk);
        Scene scene(shape_of(page_size), rng);
        if (damaged) damage(scene, rng);
        const SelectSlotsArgs args = slots_of(scene, std::min(topk, 5), topk);
        for (const std::int32_t rows : {46, 7, 0, -1, 1000}) {
          *scene.rows = rows;
          require_as_twin(select_slots, args, scene.memory);
        }
      }
}
