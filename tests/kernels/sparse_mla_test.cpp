// Sparse MLA by both routes against the oracle: masked chunks, lengths, sinks, pad
// rows, formats, and what the contract says is written. The slots that no row
// attends hold NaN in every scene, slot 0 with them.
#include "kernels/sparse_mla.hpp"

#include <climits>
#include <cmath>
#include <cstring>

#include "kernels/codec.hpp"
#include "tests/catch.hpp"
#include "tests/kernels/check_writes.hpp"
#include "tests/kernels/mla_scene.hpp"

using namespace refrain;
using namespace refrain::test;

namespace {

/// The masked-chunk report's case: row 0 valid at 16..47, row 1 all, row 2 none.
MlaScene reported_case(std::int32_t chunk, Rng& rng) {
  MlaScene scene({.rows = 3, .heads = 64, .topk = 128, .page_size = 64, .pages = 4, .chunk = chunk}, rng);
  scene.put_random(0, 16, 48, rng);
  scene.put_random(1, 0, 128, rng);
  scene.fill_attended(rng);
  return scene;
}

}  // namespace

TEST_CASE("sparse_mla: masked chunks before and after and a row of nothing but -1 come out right") {
  const std::uint64_t seed = fresh_seed();
  INFO("seed " << seed);
  Rng rng(seed);
  for (const MlaRoute route : kMlaRoutes) {
    for (const std::int32_t chunk : {16, 32, 64}) {
      MlaScene scene = reported_case(chunk, rng);
      scene.run(route);
      const MlaOracleResult want = mla_oracle(scene.problem(), scene.attended());
      for (std::size_t i = 0; i < want.out.size(); ++i)
        REQUIRE(std::abs(scene.out_value(static_cast<std::int64_t>(i)) - want.out[i]) <= 1e-2);
      for (std::size_t at = 0; at < 2 * 64; ++at) {
        REQUIRE(std::abs(scene.args.lse[at] - want.lse[at]) <= 1e-3);
        REQUIRE(std::abs(scene.args.max_logits[at] - want.max_logits[at]) <= 1e-3);
      }
      CHECK(scene.is_empty_row(2));
    }
  }
}

TEST_CASE("sparse_mla: every format and chunk is right with masked chunks leading and in the middle and trailing") {
  const std::uint64_t seed = fresh_seed();
  INFO("seed " << seed);
  Rng rng(seed);
  for (const MlaRecord record : kMlaRecords) {
    for (const std::int32_t chunk : {16, 32, 64}) {
      MlaScene scene({.rows = 6, .pad_rows = 2, .heads = 8, .topk = 256, .record = record, .chunk = chunk}, rng);
      scene.put_random(0, 64, 256, rng);                                             // leading
      scene.put_random(1, 0, 128, rng);                                              // trailing
      scene.put_random(2, 0, 64, rng), scene.put_random(2, 192, 256, rng);           // middle
      scene.put_random(3, 255, 256, rng);                                            // the last entry alone
      for (std::int32_t i = 0; i < 256; i += 3) scene.put_random(4, i, i + 1, rng);  // holes; row 5 has nothing
      scene.fill_attended(rng);
      for (const MlaRoute route : kMlaRoutes) {
        CAPTURE(static_cast<int>(record), chunk, static_cast<int>(route));
        scene.run(route);
        require_right(scene);
        CHECK(scene.is_empty_row(5));
      }
    }
  }
}

TEST_CASE("sparse_mla: entries at or past the length change nothing whatever they name") {
  const std::uint64_t seed = fresh_seed();
  INFO("seed " << seed);
  Rng rng(seed);
  for (const MlaRecord record : kMlaRecords) {
    MlaScene scene({.rows = 7, .topk = 192, .record = record, .chunk = 32, .split_chunks = 2}, rng);
    const std::int32_t lengths[7] = {0, 1, 31, 32, 65, 191, 192};
    for (std::int32_t row = 0; row < 7; ++row) {
      scene.lengths[row] = lengths[row];
      scene.put_random(row, 0, lengths[row], rng);
    }
    scene.fill_attended(rng);
    for (const std::int32_t garbage : {-1, INT_MAX, INT_MIN, static_cast<std::int32_t>(scene.args.pool.slots()), 0}) {
      for (std::int32_t row = 0; row < 7; ++row)  // slot 0 is a stale id of a record that holds NaN
        std::fill(scene.list(row) + lengths[row], scene.list(row) + 192, garbage);
      for (const MlaRoute route : kMlaRoutes) {
        CAPTURE(static_cast<int>(record), garbage, static_cast<int>(route));
        scene.run(route);
        require_right(scene);
        CHECK(scene.is_empty_row(0));
      }
    }
  }
}

TEST_CASE("sparse_mla: below the length an index that is no slot of the pool is no entry") {
  Rng rng(fresh_seed());
  MlaScene scene({.rows = 1, .topk = 64}, rng);
  scene.put_random(0, 0, 64, rng);
  const auto slots = static_cast<std::int32_t>(scene.args.pool.slots());
  for (const auto& [at, index] : {std::pair{0, slots}, {1, INT_MAX}, {2, -2}, {3, INT_MIN}, {63, slots + 1}})
    scene.list(0)[at] = index;
  scene.list(0)[5] = slots - 1;
  scene.fill_attended(rng);
  for (const MlaRoute route : kMlaRoutes) {
    scene.run(route);
    require_right(scene);
  }
}

TEST_CASE("sparse_mla: a sink is a key without a value and the whole of a row that has no other") {
  const std::uint64_t seed = fresh_seed();
  INFO("seed " << seed);
  Rng rng(seed);
  MlaScene scene({.rows = 3, .pad_rows = 2, .topk = 128, .sinks = true}, rng);
  scene.put_random(0, 0, 128, rng);
  scene.put_random(1, 70, 71, rng);
  scene.sinks[2] = -std::numeric_limits<float>::infinity();  // no sink for this head
  scene.sinks[3] = 60.0f;                                    // takes all the weight
  scene.fill_attended(rng);
  for (const MlaRoute route : kMlaRoutes) {
    scene.run(route);
    require_right(scene);  // pad rows: O = 0 and LSE -inf in spite of the sink
    for (std::int32_t head = 0; head < 16; ++head) {
      CHECK(scene.args.lse[2 * 16 + head] == scene.sinks[head]);
      CHECK(scene.out_value(std::int64_t{2 * 16 + head} * kMlaValueDim) == 0.0f);
      CHECK(scene.args.max_logits[2 * 16 + head] == -std::numeric_limits<float>::infinity());
    }
  }
}

TEST_CASE("sparse_mla: an index that stands twice counts twice") {
  Rng rng(fresh_seed());
  MlaScene scene({.rows = 1, .heads = 8, .topk = 64}, rng);
  scene.list(0)[3] = scene.list(0)[40] = 77;
  scene.list(0)[4] = 78;
  scene.fill_attended(rng);
  for (const MlaRoute route : kMlaRoutes) {
    scene.run(route);
    require_right(scene);
  }
}

TEST_CASE("sparse_mla: a NaN in an attended record stays visible in its dims and its row") {
  Rng rng(fresh_seed());
  MlaScene scene({.rows = 2, .heads = 8, .topk = 64, .record = MlaRecord::e4m3_584}, rng);
  scene.put_random(0, 0, 64, rng);
  scene.list(1)[0] = scene.list(0)[0];
  scene.fill_attended(rng);
  const std::int32_t bad = scene.list(0)[5];
  scene.args.pool.data[scene.args.pool.footer_offset(bad) + 1] = std::byte{0xFF};  // a scale that is NaN
  for (const MlaRoute route : kMlaRoutes) {
    scene.run(route);
    CHECK(scene.is_nan_row(0));  // every score of that record is NaN, too
    CHECK(scene.is_finite_row(1));
  }
}

TEST_CASE("sparse_mla: scales at the ends of UE8M0 decode as they are written") {
  Rng rng(fresh_seed());
  MlaScene scene({.rows = 1, .heads = 8, .topk = 16, .record = MlaRecord::e4m3_584, .chunk = 16}, rng);
  scene.list(0)[9] = 100;
  scene.fill_attended(rng);
  std::byte* record = scene.args.pool.data + scene.args.pool.record_offset(100);
  std::byte* scales = scene.args.pool.data + scene.args.pool.footer_offset(100);
  scales[0] = std::byte{0};    // 2^-127: below what a shift of the bits can say
  scales[6] = std::byte{254};  // 2^127
  std::memset(record, 0x7E, 64);
  std::memset(record + 6 * 64, 0x3C, 64);
  for (std::int64_t head = 0; head < 8; ++head)  // such a key is no score: its query is 0
    for (std::int64_t d = 6 * 64; d < 7 * 64; ++d) store_from_float(scene.q, Dtype::bf16, head * 512 + d, 0.0f);
  for (const MlaRoute route : kMlaRoutes) {
    scene.run(route);
    for (std::int64_t d = 0; d < 64; ++d) {
      CHECK(scene.out_value(d) == 448 * 0x1p-127f);
      CHECK(scene.out_value(6 * 64 + d) == 1.5f * 0x1p127f);
    }
  }
}

TEST_CASE("sparse_mla: fp32 scales that are no power of two cost the rounding of K and V to bf16") {
  Rng rng(fresh_seed());
  MlaScene scene({.rows = 2, .heads = 16, .topk = 128, .record = MlaRecord::e4m3_656}, rng);
  scene.put_random(0, 0, 128, rng);
  scene.put_random(1, 5, 6, rng);
  scene.fill_attended(rng);
  for (const MlaOracleRow& row : scene.attended())
    for (const std::int64_t slot : row.slots)
      for (std::int64_t g = 0; g < 4; ++g)
        store_from_float(scene.args.pool.data + scene.args.pool.record_offset(slot) + 512, Dtype::fp32, g,
                         0.5f + static_cast<float>(rng() % 4096) / 4096.0f);
  for (const MlaRoute route : kMlaRoutes) {
    scene.run(route);
    // Each of 512 products is off by 2^-9 at most and 1e-3 as a rule: together some 1e-3 of a score of a few units.
    const MlaCompared worst = compare(scene);
    CHECK(worst.out <= 1.0);
    CHECK(worst.lse <= 16.0);
    CHECK(worst.max_logits <= 16.0);
  }
}

TEST_CASE("sparse_mla: both routes write what their contracts say and nothing else") {
  const std::uint64_t seed = fresh_seed();
  INFO("seed " << seed);
  Rng rng(seed);
  for (const bool sinks : {false, true}) {
    MlaScene scene({.rows = 3, .pad_rows = 1, .heads = 8, .record = MlaRecord::e4m3_656, .sinks = sinks}, rng);
    scene.put_random(0, 0, 128, rng);
    scene.put_random(1, 3, 20, rng);
    scene.fill_attended(rng);
    run_checked(sparse_mla_prefill, scene.args, scene.memory);
    run_checked(sparse_mla_decode, scene.args, scene.memory);
    run_checked(merge_mla, scene.merge, scene.memory);
    require_right(scene);
  }
}

TEST_CASE("sparse_mla: three runs of either route give the same bits") {
  Rng rng(fresh_seed());
  MlaScene scene({.rows = 3, .pad_rows = 1, .topk = 192, .record = MlaRecord::e4m3_584, .sinks = true}, rng);
  scene.put_random(0, 0, 192, rng);
  scene.put_random(1, 70, 90, rng);
  scene.fill_attended(rng);
  for (const MlaRoute route : kMlaRoutes) {
    scene.run(route);
    const Memory::Photo first = scene.memory.photo();
    for (int i = 0; i < 2; ++i) {
      scene.run(route);
      CHECK((scene.memory.photo() == first));
    }
  }
}
