// xqa_decode launched early: what it reads before it waits is what this replay's plan
// and earlier steps left, however lengths and rows have moved since the replay before,
// and never what the kernel right ahead of it is about to append.
#include <cuda_runtime_api.h>

#include <cstring>
#include <functional>
#include <vector>

#include "tests/gpu/xqa_on_device.hpp"

using namespace refrain;
using namespace refrain::test;

namespace {

/// A plan, and decodes behind it, each with counters of its own and all into the same output.
class Layers {
 public:
  /// What comes right ahead of a layer's decode.
  using Ahead = std::function<void(std::int32_t layer, void* stream, bool early)>;

  Layers(const Memory& memory, const XqaRun& run, const std::function<Ahead(const DeviceCopy&)>& make_ahead)
      : copy_(memory),
        plan_(on_device(copy_, run.plan)),
        decode_(on_device(copy_, run.decode)),
        ahead_(make_ahead(copy_)),
        early_([this](void* stream) { enqueue(stream, true); }),
        late_([this](void* stream) { enqueue(stream, false); }) {}

  void move_to(const std::vector<std::int64_t>& positions) {
    require_success(cudaMemcpy(const_cast<std::int64_t*>(plan_.batch.query_pos), positions.data(),
                               positions.size() * sizeof(std::int64_t), cudaMemcpyHostToDevice),
                    "cudaMemcpy");
    require_success(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  }
  void upload(const Memory::Photo& photo) { copy_.upload(photo); }
  /// The last decode's output over poison.
  [[nodiscard]] std::vector<std::byte> run(bool early) {
    const std::size_t bytes = static_cast<std::size_t>(decode_.batch.bucket) * static_cast<std::size_t>(decode_.heads) *
                              static_cast<std::size_t>(decode_.pool.dim) * dtype_bytes(decode_.out_dtype);
    require_success(cudaMemset(decode_.out, 0xFF, bytes), "cudaMemset");
    require_success(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    (early ? early_ : late_).run();
    std::vector<std::byte> out(bytes);
    require_success(cudaMemcpy(out.data(), decode_.out, bytes, cudaMemcpyDeviceToHost), "cudaMemcpy");
    return out;
  }

 private:
  void enqueue(void* stream, bool early) const {
    plan_xqa.launch(plan_, stream);
    for (std::int32_t layer = 0; layer < plan_.counter_sets; ++layer) {
      ahead_(layer, stream, early);
      XqaDecodeArgs args = decode_;
      args.counters += layer * args.slots * args.heads;
      args.plan_is_done = early;
      early ? xqa_decode.launch_early(args, stream) : xqa_decode.launch(args, stream);
    }
  }

  DeviceCopy copy_;
  PlanXqaArgs plan_;
  XqaDecodeArgs decode_;
  Ahead ahead_;
  Replay early_, late_;
};

/// K and V of this step's rows, another one's in each layer.
std::vector<KvAppendArgs> appends_of(Scene& scene, std::int32_t layers, Rng& rng) {
  const std::int64_t count = std::int64_t{scene.batch.bucket} * scene.pool.kv_heads * scene.pool.dim;
  std::uniform_real_distribution<float> value(-2.0f, 2.0f);
  const auto rows = [&] {
    auto* const data = scene.memory.take<float>(count);
    for (std::int64_t i = 0; i < count; ++i) data[i] = value(rng);
    return data;
  };
  std::vector<KvAppendArgs> appends;
  for (std::int32_t layer = 0; layer < layers; ++layer)
    appends.push_back({.k = rows(),
                       .v = rows(),
                       .input_dtype = Dtype::fp32,
                       .pool = scene.pool,
                       .batch = scene.batch,
                       .k_scale = scene.k_scale,
                       .v_scale = scene.v_scale});
  return appends;
}

}  // namespace

TEST_CASE("xqa early on the GPU: a decode that reads its plan before it waits reads that of its own replay") {
  const bool wide = GENERATE(false, true);
  Rng rng(fresh_seed());
  SceneShape shape = one_row_each({4000, 700, 2048, 64, 3001, 1500}, 16, 2);
  shape.heads = 16;
  shape.kv_heads = 4;
  shape.dim = 128;
  shape.kv_dtype = shape.q_dtype = Dtype::bf16;
  Scene scene(shape, rng);
  XqaRun run(scene, {.dense = true, .partition_tokens = 256, .partitions = 16, .counter_sets = 4});
  run.decode.wide = wide;
  const std::vector<std::int64_t> longest(scene.query_pos, scene.query_pos + scene.batch.bucket);
  // Between plan and decodes a kernel of a few blocks, the plan of nobody: on most multiprocessors nothing runs between
  // the decodes of one replay and the next.
  const XqaRun nobodys(scene, {.dense = true, .partition_tokens = 256, .partitions = 16});
  Layers layers(scene.memory, run, [&](const DeviceCopy& copy) {
    return [between = on_device(copy, nobodys.plan)](std::int32_t layer, void* stream, bool early) {
      if (layer == 0) early ? plan_xqa.launch_early(between, stream) : plan_xqa.launch(between, stream);
    };
  });
  for (int repeat = 0; repeat < 40; ++repeat) {
    std::vector<std::int64_t> positions = longest;
    for (std::int64_t& at : positions) at = std::uniform_int_distribution<std::int64_t>(0, at)(rng);
    layers.move_to(positions);
    const std::vector<std::byte> early = layers.run(true);
    REQUIRE((early == layers.run(false)));
  }
}

TEST_CASE("xqa early on the GPU: a decode begins with what earlier steps left and reads what is appended right ahead") {
  const bool wide = GENERATE(false, true);
  const Dtype kv = GENERATE(Dtype::bf16, Dtype::e4m3);
  Rng rng(fresh_seed());
  for (int repeat = 0; repeat < 12; ++repeat) {
    // One token, a chunk behind others, a whole request, and rows whose chunk is longer than all tokens ahead of it.
    SceneShape shape{.lengths = {4000, 30, 700, 385, 2048, 21},
                     .rows = {1, 30, 4, 16, 3, 20},
                     .pad_rows = 2,
                     .page_size = 16,
                     .heads = 16,
                     .kv_heads = 4,
                     .dim = 128,
                     .kv_dtype = kv,
                     .q_dtype = kv == Dtype::e4m3 ? Dtype::fp16 : kv};
    if (kv != Dtype::e4m3) shape.k_scale = shape.v_scale = 1.0f;
    for (std::size_t i = 0; i < shape.lengths.size(); ++i)
      shape.lengths[i] = std::uniform_int_distribution<std::int32_t>(shape.rows[i], shape.lengths[i])(rng);
    Scene scene(shape, rng);
    for (std::int32_t row = 0; row < *scene.rows; ++row)
      for (std::int32_t head = 0; head < shape.kv_heads; ++head)
        for (std::byte* at : {scene.k_row(scene.token_to_req[row], scene.query_pos[row], head),
                              scene.v_row(scene.token_to_req[row], scene.query_pos[row], head)})
          std::memset(at, 0xFF, static_cast<std::size_t>(shape.dim) * dtype_bytes(kv));
    XqaRun run(scene, {.dense = true, .partition_tokens = 256, .partitions = 16, .counter_sets = 3});
    run.decode.wide = wide;
    const std::vector<KvAppendArgs> appends = appends_of(scene, run.plan.counter_sets, rng);
    Layers layers(scene.memory, run, [&](const DeviceCopy& copy) {
      std::vector<KvAppendArgs> there;
      for (const KvAppendArgs& append : appends) there.push_back(on_device(copy, append));
      return [there](std::int32_t layer, void* stream, bool early) {
        const KvAppendArgs& append = there[static_cast<std::size_t>(layer)];
        early ? kv_append.launch_early(append, stream) : kv_append.launch(append, stream);
      };
    });
    const Memory::Photo poisoned = scene.memory.photo();
    for (int again = 0; again < 4; ++again) {
      layers.upload(poisoned);
      const std::vector<std::byte> early = layers.run(true);
      layers.upload(poisoned);
      REQUIRE((early == layers.run(false)));
    }
  }
}
