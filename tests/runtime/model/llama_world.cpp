#include "tests/runtime/model/llama_world.hpp"

namespace refrain::test {
namespace {

TestModel make(const BufferRegistry& registry, Arena& arena, const LlamaShape& shape, const ServingLimits& limits) {
  auto llama = std::make_unique<LlamaModel>(registry, arena, shape, limits);
  const LlamaMemory& memory = llama->memory();
  TestModel made;
  made.scratch = [&memory](Phase phase) {
    const auto all = memory.of(phase).all();
    return std::vector<const Lease*>(all.begin(), all.end());
  };
  made.logits = [&memory](Phase phase) { return memory.of(phase).logits.address(); };
  for (const LlamaLayer& layer : memory.layers) made.pools.push_back(&layer.pool);
  made.model = std::move(llama);
  return made;
}

}  // namespace

LlamaWorld::LlamaWorld(Driver& driver, const LlamaShape& shape, const ServingLimits& limits)
    : ModelWorld(driver, limits, LlamaModel::arena_size(shape, limits),
                 [&](const BufferRegistry& registry, Arena& arena) { return make(registry, arena, shape, limits); }) {}

}  // namespace refrain::test
