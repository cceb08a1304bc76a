#include "runtime/model/llama.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>

#include "runtime/model/llama_step.hpp"
#include "runtime/model/llama_weights.hpp"

namespace refrain {
namespace {

LlamaShape require_fit(const LlamaShape& shape, const ServingLimits& limits) {
  if (auto why = unfit(shape, limits); !why.empty())
    throw Error(ErrorKind::usage, "making the model", std::move(why), "llama");
  return shape;
}

}  // namespace

LlamaModel::LlamaModel(const BufferRegistry& registry, Arena& arena, const LlamaShape& shape,
                       const ServingLimits& limits)
    : registry_(registry),
      shape_(require_fit(shape, limits)),
      limits_(limits),
      memory_(lease_llama(arena, shape, limits)) {}

LlamaModel::~LlamaModel() = default;

ArenaSize LlamaModel::arena_size(const LlamaShape& shape, const ServingLimits& limits) {
  return llama_size(require_fit(shape, limits), limits);
}

std::string LlamaModel::name() const {
  const LlamaShape& s = shape_;
  return fmt::format("llama layers={} width={} heads={}/{} dim={} ffn={} vocab={} page={} kv={} seed={}", s.layers,
                     s.width, s.heads, s.kv_heads, s.dim, s.ffn, s.vocab, s.page_size, to_string(s.kv), s.seed);
}

std::string LlamaModel::refusal(const StepShape& step) const {
  return refusal_of(shape_, limits_, step);
}

StepKey LlamaModel::key(const StepShape& step) const {
  StepKey key;
  key.phase = step.phase;
  key.step = "llama";
  key.rows = step.rows;
  key.query_length = step.query_length;
  key.requests = step.requests;
  key.table_width = (limits_.context - 1) / shape_.page_size + 1;
  key.page_size = shape_.page_size;
  key.kv = shape_.kv;
  key.q = shape_.dtype();
  key.heads = shape_.heads;
  key.kv_heads = shape_.kv_heads;
  key.dim = shape_.dim;
  key.partitions = shape_.partitions(limits_.context);
  const auto add = [&](const Lease* lease) {
    if (*lease) key.leases.push_back(registry_[lease->id()].allocation);
  };
  for (const Lease* lease : memory_.kept()) add(lease);
  for (const Lease* lease : memory_.of(step.phase).all()) add(lease);
  std::sort(key.leases.begin(), key.leases.end());
  for (const LlamaLayer& layer : memory_.layers) key.scales.push_back(layer.scales.address());
  return key;
}

void LlamaModel::load(Driver& driver) {
  load_llama(driver, memory_, shape_, limits_);
}

void LlamaModel::prepare(Recorder& recorder, const StepShape& step) {
  assert(refusal(step).empty());
  for (const Lease* lease : memory_.kept())
    recorder.entry(Fact::written, lease->address(), registry_[lease->id()].bytes, Origin::initialised_once,
                   "LlamaModel::load");
  Driver& driver = recorder.driver();
  const bool with_plans = driver.device().kind == "cuda";
  if (with_plans && !gemm_plans_) gemm_plans_ = std::make_unique<GemmPlans>(shape_.gemm_workspace_bytes);
  if (with_plans)
    LlamaStep(shape_, limits_, memory_, gemm_plans_.get(), step).run_gemms_once(driver, recorder.stream());
}

void LlamaModel::record(Recorder& recorder, const StepShape& step, const StepPlaces& places) {
  assert(refusal(step).empty());
  assert(places.batch.bucket == step.rows && places.batch.requests == step.requests);
  LlamaStep(shape_, limits_, memory_, gemm_plans_.get(), step).record(recorder, places);
}

}  // namespace refrain
