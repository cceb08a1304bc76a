// xqa_decode launched early behind other decodes: it reads the plan before it waits,
// and the plan of this replay, however the lengths moved since the one before.
#include <cuda_runtime_api.h>

#include <vector>

#include "tests/gpu/xqa_on_device.hpp"

using namespace refrain;
using namespace refrain::test;

namespace {

/// A plan, another kernel of a few blocks, and decodes behind it, each with counters of its own and all into the same
/// output. The kernel between is a plan for nobody: on most multiprocessors nothing runs between the decodes of one
/// replay and the next.
class Layers {
 public:
  Layers(Scene& scene, const XqaRun& run, const XqaRun& between)
      : copy_(scene.memory),
        plan_(on_device(copy_, run.plan)),
        between_(on_device(copy_, between.plan)),
        decode_(on_device(copy_, run.decode)),
        early_([this](void* stream) { enqueue(stream, true); }),
        late_([this](void* stream) { enqueue(stream, false); }) {}

  void move_to(const std::vector<std::int64_t>& positions) {
    require_success(cudaMemcpy(const_cast<std::int64_t*>(plan_.batch.query_pos), positions.data(),
                               positions.size() * sizeof(std::int64_t), cudaMemcpyHostToDevice),
                    "cudaMemcpy");
    require_success(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  }
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
    early ? plan_xqa.launch_early(between_, stream) : plan_xqa.launch(between_, stream);
    for (std::int32_t layer = 0; layer < plan_.counter_sets; ++layer) {
      XqaDecodeArgs args = decode_;
      args.counters += layer * args.slots * args.heads;
      args.plan_is_done = early;
      early ? xqa_decode.launch_early(args, stream) : xqa_decode.launch(args, stream);
    }
  }

  DeviceCopy copy_;
  PlanXqaArgs plan_, between_;
  XqaDecodeArgs decode_;
  Replay early_, late_;
};

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
  const XqaRun between(scene, {.dense = true, .partition_tokens = 256, .partitions = 16});
  Layers layers(scene, run, between);
  for (int repeat = 0; repeat < 40; ++repeat) {
    std::vector<std::int64_t> positions = longest;
    for (std::int64_t& at : positions) at = std::uniform_int_distribution<std::int64_t>(0, at)(rng);
    layers.move_to(positions);
    const std::vector<std::byte> early = layers.run(true);
    REQUIRE((early == layers.run(false)));
  }
}
