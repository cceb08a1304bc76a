// xqa_decode's kernel against the fp64 oracle: shapes, edge lengths, poison, faults.
// For fp16 and E4M3 within max(2.5e-4, one fp16 step) of the oracle; for bf16 within
// one bf16 step and 2^-8 of the largest V (P has 8 bits); see tolerance().
#include <cuda_runtime_api.h>

#include <algorithm>
#include <bit>
#include <climits>
#include <cmath>
#include <cstring>

#include "tests/gpu/xqa_on_device.hpp"

using namespace refrain;
using namespace refrain::test;

namespace {

const float kLeft = std::bit_cast<float>(0xA5A5A5A5u);  ///< what decode_on_device puts where the kernel may write

constexpr Dtype kFormats[] = {Dtype::fp16, Dtype::bf16, Dtype::e4m3};

Dtype query_of(Dtype kv) {
  return kv == Dtype::bf16 ? Dtype::bf16 : Dtype::fp16;
}

SceneShape with_format(SceneShape shape, Dtype kv) {
  shape.kv_dtype = kv;
  shape.q_dtype = query_of(kv);
  return shape;
}

}  // namespace

TEST_CASE("xqa on the GPU: dense decode agrees with the oracle for every format, page size, GQA ratio and dim") {
  const bool wide = GENERATE(false, true);
  const std::uint64_t seed = fresh_seed();
  INFO("seed " << seed);
  Rng rng(seed);
  struct Case {
    std::int32_t page, heads, kv_heads, dim, partition;
  };
  const Case cases[] = {
      {4, 6, 1, 256, 256},    {16, 8, 2, 128, 512},  {32, 8, 8, 64, 256},   {64, 32, 8, 64, 300},
      {16, 64, 8, 128, 1024}, {64, 32, 8, 128, 256}, {20, 16, 1, 128, 250}, {32, 12, 2, 256, 1024},
  };
  for (const Dtype kv : kFormats) {
    for (const Case& c : cases) {
      SceneShape shape = with_format(one_row_each(edge_lengths(c.page, c.partition), c.page, 2), kv);
      shape.heads = c.heads;
      shape.kv_heads = c.kv_heads;
      shape.dim = c.dim;
      Scene scene(shape, rng);
      XqaRun run(scene, {.dense = true, .partition_tokens = c.partition});
      run.decode.wide = wide;
      CAPTURE(to_string(kv), c.page, c.heads, c.kv_heads, c.dim, c.partition);
      decode_on_device(scene, run);
      require_right(scene, run, all_rows(scene, true));
      require_empty_row(scene, run, 0);  // length 0
      for (std::int32_t row = *scene.rows; row < scene.batch.bucket; ++row) require_empty_row(scene, run, row);
    }
  }
}

TEST_CASE("xqa on the GPU: sparse decode agrees with the oracle for every format, page size and edge length") {
  const bool wide = GENERATE(false, true);
  const std::uint64_t seed = fresh_seed();
  INFO("seed " << seed);
  Rng rng(seed);
  for (const Dtype kv : kFormats) {
    for (const std::int32_t page : {4, 16, 32, 64}) {
      std::vector<std::int32_t> lengths = edge_lengths(page, 256);
      lengths.push_back(5003);  // more blocks than a row may select
      Scene scene(with_format(one_row_each(lengths, page, 2), kv), rng);
      scene.select(rng);
      XqaRun run(scene, {});
      run.decode.wide = wide;
      CAPTURE(to_string(kv), page);
      decode_on_device(scene, run);
      require_right(scene, run, all_rows(scene, false));
      require_empty_row(scene, run, 0);
    }
  }
}

TEST_CASE("xqa on the GPU: one long split turns over its windows of page ids") {
  const bool wide = GENERATE(false, true);
  Rng rng(fresh_seed());
  for (const Dtype kv : kFormats) {
    for (const std::int32_t dim : {64, 128, 256}) {
      SceneShape shape = with_format(one_row_each({4099, 1023}, 16), kv);
      shape.dim = dim;
      Scene scene(shape, rng);
      XqaRun run(scene, {.dense = true, .partition_tokens = 8192, .partitions = 1});
      run.decode.wide = wide;
      CAPTURE(to_string(kv), dim);
      decode_on_device(scene, run);
      require_right(scene, run, all_rows(scene, true));
    }
  }
}

TEST_CASE("xqa on the GPU: slots behind the last whole group are served, and nothing is written for the others") {
  const bool wide = GENERATE(false, true);
  Rng rng(fresh_seed());
  for (const std::int32_t rows : {1, 8, 19, 23}) {
    Scene scene({.lengths = {301}, .rows = {rows}, .pad_rows = 24 - rows}, rng);
    scene.select(rng);
    XqaRun run(scene, {.group_rows = 8});
    run.decode.wide = wide;
    CAPTURE(rows);
    decode_on_device(scene, run);
    std::vector<OracleRow> served;
    for (std::int32_t row = rows / 8 * 8; row < rows; ++row)
      served.push_back(scene.oracle_row(row, scene.selected_tokens(row)));
    if (!served.empty()) require_right(scene, run, served);
    for (std::int32_t split = 0; split < 7 * 6 * 9; ++split) {
      const bool has_tokens = split / 9 / 6 < rows % 8 && split % 9 < *run.plan.active_partitions;
      REQUIRE((run.decode.partial_lse[split] == kLeft) == !has_tokens);
    }
  }
}

TEST_CASE("xqa on the GPU: the outputs do not depend on tails, unused pages or table entries past the length") {
  const bool wide = GENERATE(false, true);
  Rng rng(fresh_seed());
  for (const Dtype kv : kFormats) {
    for (const bool dense : {false, true}) {
      Scene scene(with_format(one_row_each({1, 258, 2051, 700}, 16, 2), kv), rng);
      scene.select(rng);
      XqaRun run(scene, {.dense = dense});
      run.decode.wide = wide;
      decode_on_device(scene, run);
      const auto* out = static_cast<const std::uint16_t*>(run.decode.out);
      const std::vector<std::uint16_t> first(out, out + 6 * 6 * 256);
      for (const int poison : {0x7F, 0x00, 0x7C}) {
        for (std::int32_t request = 0; request < 4; ++request) {  // the pages behind the length hold 0xFF already
          const std::int32_t length = scene.seq_len[request];
          const std::int64_t row_bytes = 256 * static_cast<std::int64_t>(dtype_bytes(kv));
          for (std::int32_t token = length; token % 16 != 0; ++token)
            for (std::byte* row : {scene.k_row(request, token), scene.v_row(request, token)})
              std::memset(row, poison, static_cast<std::size_t>(row_bytes));
          for (std::int32_t i = (length + 15) / 16; i < scene.batch.pages_per_request; ++i)
            scene.page_table[request * scene.batch.pages_per_request + i] = poison == 0 ? 1 : INT_MAX;
        }
        std::memset(scene.pool.data, poison, scene.pool.page_bytes());  // the null block
        decode_on_device(scene, run);
        CHECK(std::equal(first.begin(), first.end(), out));
      }
    }
  }
}

TEST_CASE("xqa on the GPU: a NaN V row that a row attends stays visible, and the other rows do not see it") {
  const bool wide = GENERATE(false, true);
  Rng rng(fresh_seed());
  for (const Dtype kv : kFormats) {
    Scene scene(with_format(one_row_each({300, 5}, 16), kv), rng);
    store_from_float(scene.v_row(0, 299), kv, 31, NAN);
    XqaRun run(scene, {.dense = true});
    run.decode.wide = wide;
    decode_on_device(scene, run);
    for (std::int64_t i = 0; i < 2 * 6 * 256; ++i)
      REQUIRE(is_nan(run.decode.out, query_of(kv), i) == (i < 6 * 256 && i % 256 == 31));
  }
}

TEST_CASE("xqa on the GPU: leading tiles or whole splits of -inf scores weigh nothing; no score at all is NaN") {
  const bool wide = GENERATE(false, true);
  Rng rng(fresh_seed());
  for (const std::int32_t partition : {256, 32}) {
    Scene scene(with_format(one_row_each({300}, 16), Dtype::fp16), rng);
    for (std::int64_t head = 0; head < 6; ++head) store_from_float(scene.q, Dtype::fp16, head * 256, 1.0f);
    for (std::int64_t token = 0; token < 32; ++token)
      store_from_float(scene.k_row(0, token), Dtype::fp16, 0, -INFINITY);
    XqaRun run(scene, {.dense = true, .partition_tokens = partition, .partitions = 10});
    run.decode.wide = wide;
    decode_on_device(scene, run);
    require_right(scene, run, all_rows(scene, true));
    for (std::int64_t token = 32; token < 300; ++token)
      store_from_float(scene.k_row(0, token), Dtype::fp16, 0, -INFINITY);
    decode_on_device(scene, run);
    for (std::int64_t i = 0; i < 6 * 256; ++i) REQUIRE(is_nan(run.decode.out, Dtype::fp16, i));
  }
}

TEST_CASE("xqa on the GPU: full-range E4M3 scores and sums that overflow fp16 stay exact in fp32") {
  const bool wide = GENERATE(false, true);
  Rng rng(fresh_seed());
  SceneShape shape = one_row_each({1024}, 16);
  shape.k_scale = 0.05f;
  shape.v_scale = 1.0f / 448.0f;
  Scene scene(shape, rng);
  for (std::int64_t i = 0; i < 6 * 256; ++i) store_from_float(scene.q, Dtype::fp16, i, 1.0f);
  for (std::int64_t token = 0; token < 1024; ++token) {
    std::memset(scene.k_row(0, token), 0x7E, 256);
    for (std::int64_t d = 0; d < 256; ++d) scene.v_row(0, token)[d] = d % 2 == 0 ? std::byte{0x7E} : std::byte{0xFE};
  }
  XqaRun run(scene, {.dense = true});
  run.decode.wide = wide;
  decode_on_device(scene, run);
  for (std::int64_t i = 0; i < 6 * 256; ++i)
    REQUIRE(load_as_float(run.decode.out, Dtype::fp16, i) == (i % 2 == 0 ? 1.0f : -1.0f));
  const double lse = 448.0 * 256 * 0.05 / 16 + std::log(1024.0);  // every score is 448 * 256 * 0.05 / 16
  for (int head = 0; head < 6; ++head) CHECK(run.decode.lse[head] == Approx(lse).epsilon(1e-6));
}

TEST_CASE("xqa on the GPU: fp16 partials of a 16-bit cache are rounded once more and no worse") {
  const bool wide = GENERATE(false, true);
  Rng rng(fresh_seed());
  for (const Dtype kv : {Dtype::fp16, Dtype::bf16}) {
    Scene scene(with_format(one_row_each({700, 1}, 16), kv), rng);
    XqaRun run(scene, {.dense = true, .partial_dtype = Dtype::fp16});
    run.decode.wide = wide;
    decode_on_device(scene, run);
    const Compared worst = compare(scene, run.decode.out, run.decode.lse, all_rows(scene, true));
    CHECK(worst.out <= 3.0);  // each of the three splits is rounded by half a step
    CHECK(worst.lse <= 1.0);
  }
}

TEST_CASE("xqa on the GPU: pages beyond 4 GiB of the pool are found, dense and sparse") {
  Rng rng(fresh_seed());
  constexpr std::int32_t kMoved = 600'000;  // pages of 8 KiB: 4.6 GiB
  for (const bool dense : {true, false}) {
    Scene scene(one_row_each({2051, 333}, 16), rng);
    scene.select(rng);
    XqaRun run(scene, {.dense = dense});
    plan_xqa.host(run.plan);
    const std::int32_t entries = 2 * scene.batch.pages_per_request;
    const std::vector<std::int32_t> table(scene.page_table, scene.page_table + entries);
    for (std::int32_t i = 0; i < entries; ++i)
      if (scene.page_table[i] < scene.pool.pages) scene.page_table[i] += kMoved;
    for (std::int32_t i = 0; !dense && i < 2 * kXqaSlots; ++i)
      if (run.plan.keys[i] != kInvalidKey) run.plan.keys[i] += kMoved * scene.pool.page_stride4();
    const DeviceCopy copy(scene.memory);
    const std::size_t before = kMoved * scene.pool.page_bytes(), bytes = before + scene.pool.bytes();
    std::byte* large = nullptr;
    require_success(cudaMalloc(reinterpret_cast<void**>(&large), bytes), "cudaMalloc of a large pool");
    require_success(cudaMemset(large, 0xFF, before), "cudaMemset");
    require_success(cudaMemcpy(large + before, scene.pool.data, scene.pool.bytes(), cudaMemcpyHostToDevice),
                    "cudaMemcpy");
    XqaDecodeArgs args = on_device(copy, run.decode);
    args.pool.data = large;
    args.pool.pages += kMoved;
    run_directly([&](void* stream) { xqa_decode.launch(args, stream); });
    scene.memory.restore(copy.download());
    std::copy(table.begin(), table.end(), scene.page_table);  // the oracle reads the small pool
    require_right(scene, run, all_rows(scene, dense));
    require_success(cudaFree(large), "cudaFree");
  }
}
