#include "runtime/steps/key_of.hpp"

#include "kernels/plan_grouped.hpp"

namespace refrain {
namespace {

void put_attention(const StepOptions& o, StepKey& key) {
  key.kv = o.kv;
  key.q = o.q_dtype();
  key.heads = kHeads;
  key.dim = kHeadDim;
  key.partitions = (kSelectedWidth + o.partition_tokens() - 1) / o.partition_tokens();
}

void put_mla(const StepOptions& o, StepKey& key) {
  MlaPoolView pool;
  pool.record = o.record;
  key.kv = o.record == MlaRecord::bf16 ? Dtype::bf16 : Dtype::e4m3;
  key.q = Dtype::bf16;
  key.heads = o.heads;
  key.dim = pool.dim();
  key.topk = o.topk;
  key.record = o.record;
  key.sinks = o.sinks;
}

}  // namespace

Phase phase_of(StepKind step) noexcept {
  switch (step) {
    case StepKind::grouped:
    case StepKind::mla_prefill: return Phase::prefill;
    case StepKind::mtp_verify: return Phase::verify;
    default: return Phase::decode;
  }
}

StepKey key_of(const Step& step, const BufferRegistry& registry) {
  const StepOptions& o = step.options();
  StepKey key;
  key.phase = phase_of(o.step);
  key.step = to_string(o.step);
  key.rows = o.bucket_rows();
  key.requests = o.requests;
  key.page_size = o.page_size;
  key.table_width = (o.context + o.page_size - 1) / o.page_size + 1;
  if (o.step == StepKind::mtp_verify) {
    key.query_length = 1 + o.drafts;
    key.draft_rule = o.draft_rule;
  }
  is_mla(o.step) ? put_mla(o, key) : put_attention(o, key);
  for (const Buffer& buffer : registry.all()) {
    if (buffer.died) continue;
    key.leases.push_back(buffer.allocation);
    if (buffer.role == Role::weights) key.scales.push_back(buffer.base);
  }
  return key;
}

}  // namespace refrain
