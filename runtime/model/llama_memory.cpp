#include "runtime/model/llama_memory.hpp"

#include <fmt/format.h>

#include "runtime/model/lease_taker.hpp"

namespace refrain {
namespace {

LlamaLayer take_layer(LeaseTaker& taker, const LlamaShape& s, const ServingLimits& limits, std::int32_t number) {
  const auto weights = [&](const char* name, std::int64_t rows, std::int64_t columns) {
    return taker.take(fmt::format("layer {} {}", number, name), Role::weights, s.dtype(), rows, columns);
  };
  const KvPoolView pool = s.pool(limits.pages);
  LlamaLayer layer;
  layer.attention_norm = weights("attention norm", 1, s.width);
  layer.qkv = weights("Wqkv", std::int64_t{s.qkv_heads()} * s.dim, s.width);
  layer.o = weights("Wo", s.width, std::int64_t{s.heads} * s.dim);
  layer.ffn_norm = weights("ffn norm", 1, s.width);
  layer.gate_up = weights("Wgate_up", std::int64_t{2} * s.ffn, s.width);
  layer.down = weights("Wdown", s.width, s.ffn);
  layer.scales = taker.take(fmt::format("layer {} KV scales", number), Role::weights, Dtype::fp32, 2);
  // Page 0, the null block, is nobody's to write.
  layer.pool = taker.take(
      {fmt::format("layer {} kv_pool", number), pool.bytes(), Role::kv_pool, pool.dtype, {0, pool.page_bytes()}});
  return layer;
}

LlamaScratch take_scratch(LeaseTaker& taker, const LlamaShape& s, const ServingLimits& limits, Phase phase) {
  const PhaseSize size = size_of(limits, phase);
  const std::int64_t rows = size.rows, partitions = s.partitions(limits.context);
  LlamaScratch x;
  if (rows == 0) return x;
  const auto take = [&](const char* name, Role role, Dtype dtype, auto... counts) {
    return taker.take(fmt::format("{} {}", to_string(phase), name), role, dtype, counts...);
  };
  x.residual = take("residual", Role::workspace, s.dtype(), rows, s.width);
  x.normed = take("normed", Role::workspace, s.dtype(), rows, s.width);
  x.branch = take("branch", Role::workspace, s.dtype(), rows, s.width);
  x.qkv = take("q, k and v", Role::workspace, s.dtype(), rows, s.qkv_heads(), s.dim);
  x.q = take("rotated q", Role::workspace, s.dtype(), rows, s.heads, s.dim);
  x.attended = take("attended", Role::workspace, s.dtype(), rows, s.heads, s.dim);
  x.attended_lse = take("attended LSE", Role::workspace, Dtype::fp32, rows, s.heads);
  x.gate_up = take("gate and up", Role::workspace, s.dtype(), rows, 2, s.ffn);
  x.gated = take("gated", Role::workspace, s.dtype(), rows, s.ffn);
  x.slot_rows = take("slot_rows", Role::plan, Dtype::i32, rows);
  x.lengths = take("lengths", Role::plan, Dtype::i32, rows);
  x.active_partitions = take("active_partitions", Role::plan, Dtype::i32, 1);
  x.counters = take("split counters", Role::scratch, Dtype::i32, s.layers, rows, s.heads);
  x.partials = take("split partials", Role::workspace, Dtype::fp32, rows, s.heads, partitions, s.dim);
  x.partial_lse = take("split LSE", Role::workspace, Dtype::fp32, rows, s.heads, partitions);
  if (phase == Phase::prefill) x.sampled = take("sampled rows", Role::workspace, s.dtype(), size.logits_rows, s.width);
  x.logits = take("logits", Role::workspace, Dtype::fp32, size.logits_rows, s.vocab);
  x.gemm_workspace = take("GEMM workspace", Role::workspace, Dtype::u8, s.gemm_workspace_bytes);
  return x;
}

LlamaMemory take_all(LeaseTaker& taker, const LlamaShape& s, const ServingLimits& limits) {
  LlamaMemory memory;
  memory.embedding = taker.take("embedding", Role::weights, s.dtype(), s.vocab, s.width);
  for (std::int32_t number = 0; number < s.layers; ++number)
    memory.layers.push_back(take_layer(taker, s, limits, number));
  memory.final_norm = taker.take("final norm", Role::weights, s.dtype(), s.width);
  memory.head = taker.take("head", Role::weights, s.dtype(), s.vocab, s.width);
  for (const Phase phase : kPhases) {
    const auto number = static_cast<std::uint32_t>(phase);
    taker.go_to_overlay(1 + number);
    memory.scratch[number] = take_scratch(taker, s, limits, phase);
  }
  return memory;
}

}  // namespace

LlamaMemory lease_llama(Arena& arena, const LlamaShape& shape, const ServingLimits& limits) {
  LeaseTaker taker(&arena);
  return take_all(taker, shape, limits);
}

ArenaSize llama_size(const LlamaShape& shape, const ServingLimits& limits) {
  LeaseTaker counting(nullptr);
  (void)take_all(counting, shape, limits);
  return counting.size();
}

std::vector<const Lease*> LlamaMemory::kept() const {
  std::vector<const Lease*> all = {&embedding, &final_norm, &head};
  for (const LlamaLayer& layer : layers)
    for (const Lease* lease : layer.all()) all.push_back(lease);
  return all;
}

}  // namespace refrain
