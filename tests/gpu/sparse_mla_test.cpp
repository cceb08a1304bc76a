// The sparse MLA kernels against the oracle: every format and head count, masked
// chunks, lengths, sinks, pad rows and page sizes. The slots that no row attends
// hold NaN in every scene, slot 0 with them.
#include <cuda_runtime_api.h>

#include <climits>
#include <cmath>
#include <cstring>

#include "kernels/codec.hpp"
#include "tests/gpu/mla_on_device.hpp"
#include "tests/kernels/mla_reports.hpp"

using namespace refrain;
using namespace refrain::test;

TEST_CASE("sparse_mla on the GPU: every format and head count is right over masked chunks and lengths and pad rows") {
  const std::uint64_t seed = fresh_seed();
  INFO("seed " << seed);
  Rng rng(seed);
  for (const MlaRecord record : kMlaRecords) {
    for (const std::int32_t heads : {8, 16, 24, 32, 64, 128}) {
      MlaScene scene({.rows = 8,
                      .pad_rows = 2,
                      .heads = heads,
                      .topk = 448,
                      .record = record,
                      .pages = 9,
                      .split_chunks = 2,
                      .sinks = heads == 16},
                     rng);
      scene.put_random(0, 64, 448, rng);  // leading masked chunk
      scene.put_random(1, 0, 128, rng);   // trailing
      scene.put_random(2, 0, 64, rng), scene.put_random(2, 320, 448, rng);
      scene.put_random(3, 447, 448, rng);
      for (std::int32_t i = 0; i < 448; i += 3) scene.put_random(4, i, i + 1, rng);  // row 5 has nothing
      scene.put_random(6, 0, 448, rng), scene.put_random(7, 0, 448, rng);
      scene.lengths[6] = 321, scene.lengths[7] = 0;
      for (std::int32_t i = 321; i < 448; ++i) scene.list(6)[i] = i % 3 == 0 ? INT_MAX : i % 3 == 1 ? 0 : 5'000'000;
      scene.fill_attended(rng);
      for (const MlaRoute route : kMlaRoutes) {
        CAPTURE(static_cast<int>(record), heads, static_cast<int>(route));
        run_on_device(scene, route);
        require_right(scene);
        if (!scene.shape.sinks) CHECK((scene.is_empty_row(5) && scene.is_empty_row(7)));
      }
    }
  }
}

TEST_CASE("sparse_mla on the GPU: the reported masked chunks come out right") {
  const std::uint64_t seed = fresh_seed();
  INFO("seed " << seed);
  Rng rng(seed);
  for (const MlaRecord record : kMlaRecords) {
    MlaScene scene({.rows = 3, .heads = 64, .topk = 128, .record = record, .pages = 4}, rng);
    scene.put_random(0, 16, 48, rng);
    scene.put_random(1, 0, 128, rng);
    scene.fill_attended(rng);
    for (const MlaRoute route : kMlaRoutes) {
      run_on_device(scene, route);
      require_right(scene);
      CHECK(scene.is_empty_row(2));
    }
  }
}

TEST_CASE("sparse_mla on the GPU: a row that has nothing but a sink has its LSE and zeros") {
  Rng rng(fresh_seed());
  MlaScene scene({.rows = 2, .pad_rows = 1, .topk = 64, .sinks = true}, rng);
  scene.put_random(1, 3, 20, rng);
  scene.fill_attended(rng);
  for (const MlaRoute route : kMlaRoutes) {
    run_on_device(scene, route);
    require_right(scene);
    for (std::int32_t head = 0; head < 16; ++head) CHECK(scene.args.lse[head] == scene.sinks[head]);
  }
}

TEST_CASE("sparse_mla on the GPU: records are found in pages of any size and lists of any width") {
  const std::uint64_t seed = fresh_seed();
  INFO("seed " << seed);
  Rng rng(seed);
  struct Case {
    std::int32_t page, topk;
  };
  for (const MlaRecord record : kMlaRecords) {
    for (const auto& [page, topk] : {Case{2, 64}, {53, 100}, {61, 2048}, {64, 1024}, {256, 512}}) {
      MlaScene scene({.rows = 2, .heads = 8, .topk = topk, .record = record, .page_size = page, .pages = 2600 / page},
                     rng);
      scene.put_random(0, 0, topk, rng);
      scene.put_random(1, topk / 3, topk / 2, rng);
      scene.list(1)[0] = static_cast<std::int32_t>(scene.args.pool.slots()) - 1;
      scene.fill_attended(rng);
      for (const MlaRoute route : kMlaRoutes) {
        INFO("page " << page << ", topk " << topk);
        CAPTURE(static_cast<int>(record), static_cast<int>(route));
        run_on_device(scene, route);
        require_right(scene);
      }
    }
  }
}

TEST_CASE("sparse_mla on the GPU: scales at the ends of UE8M0 decode as they are written") {
  Rng rng(fresh_seed());
  MlaScene scene({.rows = 1, .heads = 8, .topk = 64, .record = MlaRecord::e4m3_584}, rng);
  scene.list(0)[9] = 100;
  scene.fill_attended(rng);
  std::byte* record = scene.args.pool.data + scene.args.pool.record_offset(100);
  std::byte* scales = scene.args.pool.data + scene.args.pool.footer_offset(100);
  scales[0] = std::byte{0}, scales[6] = std::byte{254};
  for (int d = 0; d < 64; ++d) record[d] = std::byte(d < 8 ? d : 0x7E), record[6 * 64 + d] = std::byte{0x3C};
  for (std::int64_t head = 0; head < 8; ++head)  // such a key is no score: its query is 0
    for (std::int64_t d = 6 * 64; d < 7 * 64; ++d) store_from_float(scene.q, Dtype::bf16, head * 512 + d, 0.0f);
  run_on_device(scene, MlaRoute::prefill);
  for (std::int64_t d = 0; d < 64; ++d) {
    if (d >= 8) CHECK(scene.out_value(d) == 448 * 0x1p-127f);
    CHECK(scene.out_value(6 * 64 + d) == 1.5f * 0x1p127f);
  }
  scales[3] = std::byte{0xFF};
  run_on_device(scene, MlaRoute::prefill);
  CHECK(scene.is_nan_row(0));  // its score is NaN
}

TEST_CASE("sparse_mla on the GPU: a NaN in an attended record stays visible and stays in its row") {
  Rng rng(fresh_seed());
  for (const MlaRecord record : kMlaRecords) {
    MlaScene scene({.rows = 3, .heads = 16, .topk = 192, .record = record}, rng);
    for (std::int32_t row = 0; row < 3; ++row) scene.put_random(row, 0, 192, rng);
    scene.list(1)[100] = 0;
    scene.fill_attended(rng);
    std::memset(scene.args.pool.data + scene.args.pool.record_offset(0), 0xFF, 16);
    for (std::int32_t row : {0, 2}) scene.list(row)[3] = -1;
    for (const MlaRoute route : kMlaRoutes) {
      run_on_device(scene, route);
      CHECK(scene.is_finite_row(0));
      CHECK(scene.is_nan_row(1));
      CHECK(scene.is_finite_row(2));
    }
  }
}

TEST_CASE("sparse_mla on the GPU: records beyond 4 GiB of the pool are found") {
  Rng rng(fresh_seed());
  for (const MlaRecord record : kMlaRecords) {
    MlaScene scene({.rows = 2, .heads = 16, .topk = 128, .record = record}, rng);
    scene.put_random(0, 0, 128, rng);
    scene.put_random(1, 50, 60, rng);
    scene.fill_attended(rng);
    scene.poison_outputs();
    const std::int64_t moved = (std::int64_t{5} << 30) / scene.args.pool.page_bytes();  // pages
    const auto slots = static_cast<std::int32_t>(moved * scene.shape.page_size);
    const std::size_t before = static_cast<std::size_t>(moved * scene.args.pool.page_bytes());
    const std::size_t bytes = before + scene.args.pool.bytes();
    std::vector<std::int32_t> lists(scene.indices, scene.indices + 2 * 128);
    for (std::int32_t i = 0; i < 2 * 128; ++i)
      if (scene.indices[i] >= 0) scene.indices[i] += slots;
    const DeviceCopy copy(scene.memory);
    std::byte* large = nullptr;
    require_success(cudaMalloc(reinterpret_cast<void**>(&large), bytes), "cudaMalloc of a large pool");
    require_success(cudaMemset(large, 0xFF, before), "cudaMemset");
    require_success(cudaMemcpy(large + before, scene.args.pool.data, scene.args.pool.bytes(), cudaMemcpyHostToDevice),
                    "cudaMemcpy");
    require_success(cudaDeviceSynchronize(), "cudaDeviceSynchronize");  // the kernel's stream waits for nobody
    SparseMlaArgs args = on_device(copy, scene.args);
    args.pool.data = large;
    args.pool.pages += moved;
    run_directly([&](void* stream) { sparse_mla_prefill.launch(args, stream); });
    scene.memory.restore(copy.download());
    std::copy(lists.begin(), lists.end(), scene.indices);  // the oracle reads the small pool
    require_right(scene);
    require_success(cudaFree(large), "cudaFree");
  }
}
