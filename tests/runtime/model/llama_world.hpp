// The Llama-shaped decoder in a ModelWorld.
#pragma once

#include "runtime/model/llama.hpp"
#include "tests/runtime/model/model_world.hpp"

namespace refrain::test {

class LlamaWorld final : public ModelWorld {
 public:
  LlamaWorld(Driver& driver, const LlamaShape& shape, const ServingLimits& limits);
  [[nodiscard]] LlamaModel& model() { return static_cast<LlamaModel&>(ModelWorld::model()); }
};

}  // namespace refrain::test
