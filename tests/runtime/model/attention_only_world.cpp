#include "tests/runtime/model/attention_only_world.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace refrain::test {
namespace {

TestModel make(const BufferRegistry& registry, Arena& arena, const AttentionOnlyShape& shape,
               const ServingLimits& limits) {
  auto model = std::make_unique<AttentionOnlyModel>(registry, arena, shape, limits);
  const AttentionOnlyMemory& memory = model->memory();
  TestModel made;
  made.scratch = [&memory](Phase phase) { return memory.of(phase).all(); };
  made.logits = [&memory](Phase phase) { return memory.of(phase).logits.address(); };
  for (const AttentionOnlyLayer& layer : memory.layers) made.pools.push_back(&layer.pool);
  made.model = std::move(model);
  return made;
}

}  // namespace

AttentionOnlyWorld::AttentionOnlyWorld(Driver& driver, const AttentionOnlyShape& shape, const ServingLimits& limits)
    : ModelWorld(driver, limits, AttentionOnlyModel::arena_size(shape, limits),
                 [&](const BufferRegistry& registry, Arena& arena) { return make(registry, arena, shape, limits); }) {}

AttentionOnlyShape small_attention_only(const AttentionOnlyCase& c, std::uint64_t seed) {
  AttentionOnlyShape shape{.layers = 3, .width = 40, .vocab = 61, .heads = 4, .kv_heads = 2, .dim = 64};
  shape.page_size = c.page_size;
  shape.kv = c.kv;
  shape.record = c.record;
  shape.blocks = 9;
  shape.sink_blocks = 2;
  shape.topk = 64;
  shape.sink_tokens = 5;
  shape.partition_tokens = 20;
  shape.seed = seed;
  shape.allow_e4m3_mtp = true;
  shape.gemm_workspace_bytes = 1 << 20;
  return shape;
}

ServingLimits attention_only_limits() {
  return {.context = 120,
          .pages = 12,
          .decode_rows = 6,
          .prefill_tokens = 90,
          .prefill_requests = 4,
          .verify_requests = 4,
          .drafts = 3};
}

double attention_only_distance(const std::vector<float>& logits, const std::vector<double>& oracle, Dtype kv) {
  double worst = 0;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    const double away = std::abs(static_cast<double>(logits[i]) - oracle[i]);
    worst = std::isnan(away) ? std::numeric_limits<double>::infinity() : std::max(worst, away);
  }
  return worst / (kv == Dtype::fp16 ? 0.018 : kv == Dtype::e4m3 ? 0.05 : 0.09);
}

}  // namespace refrain::test
