// Sparse MLA with many heads, where a block attends one share after another and
// what is subtracted from scores lags behind their max: more rows than multiprocessors,
// rows without tiles between them, and scores that grow from tile to tile.
#include <cmath>

#include "kernels/codec.hpp"
#include "tests/gpu/mla_on_device.hpp"

using namespace refrain;
using namespace refrain::test;

TEST_CASE("sparse_mla on the GPU: more rows than multiprocessors come out right with empty ones among them") {
  const std::uint64_t seed = fresh_seed();
  INFO("seed " << seed);
  Rng rng(seed);
  for (const MlaRecord record : kMlaRecords) {
    MlaScene scene({.rows = 140, .pad_rows = 7, .heads = 64, .topk = 192, .record = record, .pages = 10}, rng);
    // Nothing in rows 0 and 132, which are one block's in prefill, nor in a third of the others' parts of a list; the
    // decode has three shares a row.
    for (std::int32_t row = 1; row < 140; ++row)
      if (row != 132 && row % 5 != 2) scene.put_random(row, row % 3 * 64, row % 3 * 64 + 1 + row % 20, rng);
    scene.put_random(133, 0, 192, rng);
    scene.lengths[6] = 0;
    scene.fill_attended(rng);
    for (const MlaRoute route : kMlaRoutes) {
      CAPTURE(static_cast<int>(record), static_cast<int>(route));
      run_on_device(scene, route);
      require_right(scene);
      CHECK((scene.is_empty_row(0) && scene.is_empty_row(132) && scene.is_empty_row(6)));
    }
  }
}

TEST_CASE("sparse_mla on the GPU: a head whose scores double with every tile keeps its sums in proportion") {
  const std::uint64_t seed = fresh_seed();
  INFO("seed " << seed);
  Rng rng(seed);
  constexpr std::int32_t kTiles = 7, kEntries = 64;
  for (const bool rising : {true, false}) {
    MlaScene scene({.rows = 2, .heads = 64, .topk = kTiles * kEntries, .pages = 10, .split_chunks = 3}, rng);
    for (std::int32_t row = 0; row < 2; ++row) scene.put_random(row, 0, kTiles * kEntries, rng);
    scene.fill_attended(rng);
    const std::int64_t dim = scene.args.pool.dim();
    for (std::int32_t i = 0; i < kTiles * kEntries; ++i) {
      // Row 0's order decides; row 1 meets the same records in another one.
      const int doublings = rising ? i / kEntries : kTiles - 1 - i / kEntries;
      std::byte* record = scene.args.pool.data + scene.args.pool.record_offset(scene.list(0)[i]);
      for (std::int64_t at = 0; at < dim; ++at)
        store_from_float(record, Dtype::bf16, at, std::ldexp(load_as_float(record, Dtype::bf16, at), doublings));
    }
    scene.largest_v = std::ldexp(scene.largest_v, kTiles - 1);
    for (const MlaRoute route : kMlaRoutes) {
      CAPTURE(rising, static_cast<int>(route));
      run_on_device(scene, route);
      require_right(scene);
    }
  }
}
