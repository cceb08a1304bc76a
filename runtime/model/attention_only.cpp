#include "runtime/model/attention_only.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>

#include "runtime/model/attention_only_step.hpp"
#include "runtime/model/attention_only_weights.hpp"

namespace refrain {
namespace {

AttentionOnlyShape require_fit(const AttentionOnlyShape& shape, const ServingLimits& limits) {
  if (auto why = unfit(shape, limits); !why.empty())
    throw Error(ErrorKind::usage, "making the model", std::move(why), "attention_only");
  return shape;
}

}  // namespace

AttentionOnlyModel::AttentionOnlyModel(const BufferRegistry& registry, Arena& arena, const AttentionOnlyShape& shape,
                                       const ServingLimits& limits)
    : registry_(registry),
      shape_(require_fit(shape, limits)),
      limits_(limits),
      memory_(lease_attention_only(arena, shape, limits)) {}

AttentionOnlyModel::~AttentionOnlyModel() = default;

ArenaSize AttentionOnlyModel::arena_size(const AttentionOnlyShape& shape, const ServingLimits& limits) {
  return attention_only_size(require_fit(shape, limits), limits);
}

std::string AttentionOnlyModel::name() const {
  const AttentionOnlyShape& s = shape_;
  return fmt::format("attention_only layers={} width={} heads={}/{} dim={} vocab={} page={} kv={} topk={} seed={}",
                     s.layers, s.width, s.heads, s.kv_heads, s.dim, s.vocab, s.page_size, to_string(s.kv), s.topk,
                     s.seed);
}

std::string AttentionOnlyModel::refusal(const StepShape& step) const {
  return refusal_of(shape_, limits_, step);
}

StepKey AttentionOnlyModel::key(const StepShape& step) const {
  StepKey key;
  key.phase = step.phase;
  key.step = "attention_only";
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
  key.partitions = shape_.partitions(LayerKind::dense, limits_.context);
  key.topk = shape_.topk;
  key.record = shape_.record;
  const auto add = [&](const Lease* lease) {
    if (*lease) key.leases.push_back(registry_[lease->id()].allocation);
  };
  for (const Lease* lease : memory_.kept()) add(lease);
  for (const Lease* lease : memory_.of(step.phase).all()) add(lease);
  std::sort(key.leases.begin(), key.leases.end());
  for (const AttentionOnlyLayer& layer : memory_.layers)
    if (layer.scales) key.scales.push_back(layer.scales.address());
  return key;
}

void AttentionOnlyModel::load(Driver& driver) {
  load_attention_only(driver, memory_, shape_, limits_);
}

void AttentionOnlyModel::prepare(Recorder& recorder, const StepShape& step) {
  assert(refusal(step).empty());
  for (const Lease* lease : memory_.kept())
    recorder.entry(Fact::written, lease->address(), registry_[lease->id()].bytes, Origin::initialised_once,
                   "AttentionOnlyModel::load");
  Driver& driver = recorder.driver();
  const bool with_plans = driver.device().kind == "cuda";
  if (with_plans && !gemm_plans_) gemm_plans_ = std::make_unique<GemmPlans>(shape_.gemm_workspace_bytes);
  const AttentionOnlyStep work(shape_, limits_, memory_, gemm_plans_.get(), step);
  if (with_plans) work.run_gemms_once(driver, recorder.stream());
  work.fill_scratch(recorder);
}

void AttentionOnlyModel::record(Recorder& recorder, const StepShape& step, const StepPlaces& places) {
  assert(refusal(step).empty());
  assert(places.batch.bucket == step.rows && places.batch.requests == step.requests);
  AttentionOnlyStep(shape_, limits_, memory_, gemm_plans_.get(), step).record(recorder, places);
}

}  // namespace refrain
