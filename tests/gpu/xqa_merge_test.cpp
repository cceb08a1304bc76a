// The end of a row in xqa_decode: rows of many splits, one and none in one launch,
// replayed over partials full of poison, and counters that did not start at zero.
// Whichever block comes last merges, so every replay must give the same bits.
#include <cuda_runtime_api.h>

#include <cmath>
#include <cstring>

#include "tests/gpu/xqa_on_device.hpp"

using namespace refrain;
using namespace refrain::test;

namespace {

/// A scene and its planned route on the device, whose decode is replayed.
class Replayed {
 public:
  Replayed(Scene& scene, XqaRun& run)
      : scene_(scene),
        run_(run),
        planned_((plan_xqa.host(run.plan), scene.memory)),
        args_(on_device(planned_, run.decode)) {}

  /// Counters zeroed, scratch and outputs full of `poison`.
  void prepare(int poison) {
    for (const Access& access : xqa_decode.contract(args_).accesses)
      if (access.mode == Mode::write)
        require_success(cudaMemset(reinterpret_cast<void*>(access.base), poison, access.range.size()), "cudaMemset");
    start_counters_at(0);
  }
  void start_counters_at(std::uint32_t start) {
    const std::vector<std::uint32_t> counters(static_cast<std::size_t>(args_.slots * args_.heads), start);
    require_success(cudaMemcpy(args_.counters, counters.data(), counters.size() * 4, cudaMemcpyHostToDevice),
                    "cudaMemcpy");
    require_success(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  }
  void replay() { graph_.run(); }
  /// Leaves the scene's memory as the device's is.
  void fetch() { scene_.memory.restore(planned_.download()); }

  /// The outputs, which no replay may change.
  [[nodiscard]] std::vector<std::byte> outputs() {
    fetch();
    const auto rows = static_cast<std::size_t>(scene_.batch.bucket) * static_cast<std::size_t>(args_.heads);
    const auto* out = static_cast<const std::byte*>(run_.decode.out);
    std::vector<std::byte> bytes(out,
                                 out + rows * static_cast<std::size_t>(args_.pool.dim) * dtype_bytes(args_.out_dtype));
    const auto* lse = reinterpret_cast<const std::byte*>(run_.decode.lse);
    bytes.insert(bytes.end(), lse, lse + rows * 4);
    return bytes;
  }

 private:
  Scene& scene_;
  XqaRun& run_;
  DeviceCopy planned_;
  XqaDecodeArgs args_;
  Replay graph_{[this](void* stream) { xqa_decode.launch(args_, stream); }};
};

struct Case {
  Dtype kv;
  std::int32_t heads, kv_heads, dim, tokens;  ///< tokens a split
  std::vector<std::int32_t> lengths;
  Dtype partial = Dtype::fp32;
};

/// Many splits, one, none and two beside each other; the most are too many for one go of the merge.
std::vector<Case> cases() {
  return {
      {Dtype::bf16, 32, 8, 128, 64, {2600, 0, 64, 65, 1, 4096, 128, 3000}},
      {Dtype::bf16, 64, 8, 128, 16, {1501, 16, 0, 17, 900, 1501}},     // 94 splits, 24 at a time
      {Dtype::fp16, 16, 1, 256, 16, {700, 0, 15, 333, 16, 33}},        // 44 splits, 4 at a time
      {Dtype::fp16, 2, 2, 64, 4, {1999, 4, 0, 5, 1000}, Dtype::fp16},  // 500 splits, half the bytes
      {Dtype::e4m3, 6, 1, 256, 128, {2051, 0, 100, 129, 2048, 2051, 2051, 700}},
      {Dtype::e4m3, 8, 8, 64, 8, {3201, 8, 0, 3201, 9}},  // 401 splits of one head
  };
}

Scene scene_of(const Case& c, Rng& rng) {
  SceneShape shape = one_row_each(c.lengths, 16, 2);
  shape.heads = c.heads;
  shape.kv_heads = c.kv_heads;
  shape.dim = c.dim;
  shape.kv_dtype = c.kv;
  shape.q_dtype = c.kv == Dtype::bf16 ? Dtype::bf16 : Dtype::fp16;
  return {shape, rng};
}

XqaRun route_of(const Case& c, Scene& scene) {
  const std::int32_t longest = *std::max_element(c.lengths.begin(), c.lengths.end());
  return {scene,
          {.dense = true,
           .partition_tokens = c.tokens,
           .partitions = (longest + c.tokens - 1) / c.tokens,
           .partial_dtype = c.partial}};
}

}  // namespace

TEST_CASE("xqa merge on the GPU: rows of many splits and one and none are right and the same bits in every replay") {
  const bool wide = GENERATE(false, true);
  const std::uint64_t seed = fresh_seed();
  INFO("seed " << seed);
  Rng rng(seed);
  for (const Case& c : cases()) {
    CAPTURE(to_string(c.kv), c.heads, c.kv_heads, c.dim, c.tokens);
    Scene scene = scene_of(c, rng);
    XqaRun run = route_of(c, scene);
    run.decode.wide = wide;
    Replayed device(scene, run);
    device.prepare(0xFF);
    device.replay();
    const std::vector<std::byte> first = device.outputs();
    const Compared worst = compare(scene, run.decode.out, run.decode.lse, all_rows(scene, true));
    CHECK(worst.out <= (c.partial == Dtype::fp16 ? 3.0 : 1.0));  // fp16 partials are rounded once more
    CHECK(worst.lse <= 1.0);
    for (std::size_t row = 0; row < c.lengths.size(); ++row)
      if (c.lengths[row] == 0) require_empty_row(scene, run, static_cast<std::int32_t>(row));
    for (std::int32_t row = *scene.rows; row < scene.batch.bucket; ++row) require_empty_row(scene, run, row);
    constexpr int kPoison[] = {0xFF, 0x7F, 0x00, 0x3C};
    for (int repeat = 0; repeat < 40; ++repeat) {
      device.prepare(kPoison[repeat % 4]);
      device.replay();
      REQUIRE((device.outputs() == first));
    }
  }
}

TEST_CASE("xqa merge on the GPU: what is written is what the twin writes") {
  const bool wide = GENERATE(false, true);
  Rng rng(fresh_seed());
  for (const Case& c : cases()) {
    CAPTURE(to_string(c.kv), c.heads, c.kv_heads, c.dim, c.tokens);
    Scene scene = scene_of(c, rng);
    XqaRun run = route_of(c, scene);
    run.decode.wide = wide;
    decode_on_device(scene, run);
  }
}

TEST_CASE("xqa merge on the GPU: counters that were not zeroed leave NaN in every replay however the blocks finish") {
  const bool wide = GENERATE(false, true);
  Rng rng(fresh_seed());
  const Case c{Dtype::bf16, 32, 8, 128, 64, {1000, 0, 64, 129, 2000, 512, 700, 2000}};
  Scene scene = scene_of(c, rng);
  XqaRun run = route_of(c, scene);
  run.decode.wide = wide;
  Replayed device(scene, run);
  device.prepare(0xFF);
  device.replay();
  const std::vector<std::byte> right = device.outputs();
  std::vector<std::uint32_t> starts = {1, 2, 0x7F7F7F7Fu, 0xFFFFFFFFu};
  for (std::uint32_t splits = 2; splits <= 32; ++splits) starts.push_back(splits * split_ticket(splits));
  for (const std::uint32_t start : starts) {
    CAPTURE(start);
    device.prepare(0xFF);
    device.replay();  // now rows and partials are right, and a merge that came early would find good numbers
    device.start_counters_at(start);
    device.replay();
    device.fetch();
    for (std::size_t row = 0; row < c.lengths.size(); ++row) {
      const auto first = static_cast<std::int64_t>(row) * c.heads;
      for (std::int64_t head = first; head < first + c.heads; ++head) {
        REQUIRE(std::isnan(run.decode.lse[head]) == (c.lengths[row] > c.tokens));
        for (std::int64_t d = 0; d < c.dim; ++d)
          REQUIRE(is_nan(run.decode.out, Dtype::bf16, head * c.dim + d) == (c.lengths[row] > c.tokens));
      }
    }
  }
  device.prepare(0xFF);
  device.replay();
  REQUIRE((device.outputs() == right));
}

TEST_CASE("xqa merge on the GPU: a second decode without a new plan is NaN where rows have several splits") {
  const bool wide = GENERATE(false, true);
  Rng rng(fresh_seed());
  const Case c{Dtype::e4m3, 6, 1, 256, 256, {300, 0, 256, 2051}};
  Scene scene = scene_of(c, rng);
  XqaRun run = route_of(c, scene);
  run.decode.wide = wide;
  Replayed device(scene, run);
  device.prepare(0xFF);
  device.replay();
  device.replay();
  device.fetch();
  for (const std::int64_t row : {0, 3})
    for (std::int64_t i = row * 6 * 256; i < (row + 1) * 6 * 256; ++i) REQUIRE(is_nan(run.decode.out, Dtype::fp16, i));
  require_empty_row(scene, run, 1);
  require_right(scene, run, {scene.oracle_row(2, scene.visible_tokens(2))});
}

TEST_CASE("xqa merge on the GPU: chunks without any score weigh nothing and a row without any is NaN") {
  const bool wide = GENERATE(false, true);
  Rng rng(fresh_seed());
  const Case c{Dtype::fp16, 16, 1, 256, 16, {400}};  // 25 splits, 4 at a time
  Scene scene = scene_of(c, rng);
  for (std::int64_t head = 0; head < 16; ++head) store_from_float(scene.q, Dtype::fp16, head * 256, 1.0f);
  const auto silence = [&](std::int64_t from, std::int64_t to) {
    for (std::int64_t token = from; token < to; ++token)
      store_from_float(scene.k_row(0, token), Dtype::fp16, 0, -INFINITY);
  };
  XqaRun run = route_of(c, scene);
  run.decode.wide = wide;
  silence(0, 80);     // the first chunk and a split of the second
  silence(192, 256);  // a chunk in the middle
  decode_on_device(scene, run);
  require_right(scene, run, all_rows(scene, true));
  silence(0, 400);
  decode_on_device(scene, run);
  for (std::int64_t i = 0; i < 16 * 256; ++i) REQUIRE(is_nan(run.decode.out, Dtype::fp16, i));
}
