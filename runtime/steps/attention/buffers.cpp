#include "runtime/steps/attention/buffers.hpp"

#include <algorithm>
#include <random>

#include "kernels/plan_grouped.hpp"
#include "kernels/plan_xqa.hpp"

namespace refrain {
namespace {

constexpr std::uint64_t kAlignmentSlack = 64 * 1024;

std::uint64_t u(std::int64_t count) {
  return static_cast<std::uint64_t>(count);
}

std::int32_t xqa_slots(const StepOptions& o) {
  return o.grouped() ? std::min(o.written_rows(), kGroupRows - 1) : o.written_rows();
}

std::int32_t partition_count(const StepOptions& o) {
  return (kSelectedWidth + o.partition_tokens() - 1) / o.partition_tokens();
}

/// Pages for every request, shuffled by the seed when there are several requests.
std::vector<std::vector<std::int32_t>> take_pages(KvPool& pool, const StepOptions& o) {
  const auto each = static_cast<std::size_t>(pages_used(o));
  std::vector<std::int32_t> taken(each * static_cast<std::size_t>(o.requests));
  for (std::int32_t& page : taken) page = pool.pages().take();
  if (o.requests > 1) {
    std::mt19937_64 random(o.seed);
    std::shuffle(taken.begin(), taken.end(), random);
  }
  std::vector<std::vector<std::int32_t>> pages;
  for (auto first = taken.begin(); pages.size() < static_cast<std::size_t>(o.requests); first += pages_used(o))
    pages.emplace_back(first, first + pages_used(o));
  return pages;
}

}  // namespace

XqaBuffers lease_xqa(Arena& arena, const StepOptions& o, std::int32_t slots, std::int32_t group_rows,
                     Dtype partial_dtype) {
  XqaBuffers x;
  x.slots = slots;
  x.group_rows = group_rows;
  x.partition_tokens = o.partition_tokens();
  x.partitions = partition_count(o);
  x.partial_dtype = partial_dtype;
  x.keys = arena.lease({"xqa keys", u(slots) * kXqaSlots * 8, Role::plan, Dtype::i64});
  x.slot_rows = arena.lease({"xqa slot_rows", u(slots) * 4, Role::plan, Dtype::i32});
  x.lengths = arena.lease({"xqa lengths", u(slots) * 4, Role::plan, Dtype::i32});
  x.active_partitions = arena.lease({"active_partitions", 4, Role::plan, Dtype::i32});
  x.counters = arena.lease({"split counters", u(x.counter_count()) * 4, Role::scratch, Dtype::i32});
  x.partials = arena.lease({"split partials", x.partial_bytes(), Role::workspace, partial_dtype});
  x.partial_lse = arena.lease({"split LSE", x.lse_bytes(), Role::workspace, Dtype::fp32});
  return x;
}

OutputBuffers lease_output(Arena& arena, const StepOptions& o) {
  const std::uint64_t row_heads = u(o.bucket_rows()) * kHeads;
  return {arena.lease({"out", row_heads * kHeadDim * dtype_bytes(o.q_dtype()), Role::output, o.q_dtype()}),
          arena.lease({"lse", row_heads * sizeof(float), Role::output, Dtype::fp32})};
}

std::vector<OutputTensor> OutputBuffers::tensors(const StepOptions& o) const {
  return {{"out", out.address(), o.q_dtype(), o.bucket_rows(), o.rows, kHeads, kHeadDim},
          {"lse", lse.address(), Dtype::fp32, o.bucket_rows(), o.rows, kHeads, 1}};
}

AttentionBuffers::AttentionBuffers(Driver& driver, BufferRegistry& registry, Arena& arena, const StepOptions& o)
    : options(o), pool(arena, pool_shape(o)), pages(take_pages(pool, o)) {
  const std::uint64_t bucket = u(o.bucket_rows()), requests = u(o.requests);
  const std::uint64_t row_bytes = kHeadDim * dtype_bytes(o.q_dtype());
  rows = arena.lease({"rows", 4, Role::input, Dtype::i32});
  token_to_req = arena.lease({"token_to_req", bucket * 4, Role::input, Dtype::i32});
  query_pos = arena.lease({"query_pos", bucket * 8, Role::input, Dtype::i64});
  seq_len = arena.lease({"seq_len", requests * 4, Role::input, Dtype::i32});
  page_table = arena.lease({"page_table", requests * u(pages_used(o) + 1) * 4, Role::input, Dtype::i32});
  selected = arena.lease({"selected", bucket * kSelectedWidth * 4, Role::input, Dtype::i32});
  q = arena.lease({"q", bucket * kHeads * row_bytes, Role::input, o.q_dtype()});
  if (o.faults.has(Fault::input_rebound))
    moved_q = arena.lease({"q, moved", bucket * kHeads * row_bytes, Role::input, o.q_dtype()});
  k = arena.lease({"k", bucket * row_bytes, Role::input, o.q_dtype()});
  v = arena.lease({"v", bucket * row_bytes, Role::input, o.q_dtype()});
  scales = arena.lease({"kv scales", 8, Role::weights, Dtype::fp32});
  if (o.grouped()) {
    grouped.groups = (o.written_rows() + kGroupRows - 1) / kGroupRows;
    const std::uint64_t entries = u(grouped.groups) * kGroupedWidth;
    grouped.microblocks = arena.lease({"microblocks", entries * 4, Role::plan, Dtype::i32});
    grouped.masks = arena.lease({"masks", entries * 4, Role::plan, Dtype::u32});
    grouped.tokens = arena.lease({"group tokens", u(grouped.groups) * 4, Role::plan, Dtype::i32});
  }
  const Dtype partial = o.faults.has(Fault::workspace_fp16) ? Dtype::fp16 : Dtype::fp32;
  xqa = lease_xqa(arena, o, xqa_slots(o), o.grouped() ? kGroupRows : 0, partial);
  if (o.faults.any_of({Fault::workspace_grown, Fault::stale_pointer, Fault::reused_address})) {
    Buffer outside = registry[xqa.partials.id()];
    xqa.partials = Lease{};
    xqa.unguarded = std::make_unique<UnguardedWorkspace>(driver, registry, std::move(outside));
  }
  output = lease_output(arena, o);
  host_lse.resize(static_cast<std::size_t>(o.bucket_rows()) * kHeads);
  host_partitions = {xqa.partitions};
}

std::uint64_t AttentionBuffers::arena_bytes(const StepOptions& o) {
  const std::uint64_t bucket = u(o.bucket_rows());
  const std::uint64_t heads = bucket * kHeads;
  const std::uint64_t inputs = bucket * (12 + kSelectedWidth * 4) + u(o.requests) * u(pages_used(o) + 2) * 4;
  const std::uint64_t activations = (heads * 3 + bucket * 2) * kHeadDim * 2 + heads * 8;
  const std::uint64_t plans = (bucket / kGroupRows + 1) * kGroupedWidth * 8 + bucket * 2 * (kXqaSlots * 8 + 16);
  const std::uint64_t workspace = heads * 2 * (u(partition_count(o)) * (kHeadDim * 4 + 4) + 4);
  return pool_shape(o).bytes() + inputs + activations + plans + workspace + kAlignmentSlack;
}

void AttentionBuffers::upload(Driver& driver, const AttentionInputs& in) const {
  write_array(driver, rows, in.rows);
  write_array(driver, token_to_req, in.token_to_req);
  write_array(driver, query_pos, in.query_pos);
  write_array(driver, seq_len, in.seq_len);
  write_array(driver, page_table, in.page_table);
  write_array(driver, selected, in.selected);
  write_array(driver, q, in.q);
  write_array(driver, k, in.k);
  write_array(driver, v, in.v);
  write_array(driver, scales, in.scales);
  write_array(driver, pool.lease(), in.pool);
  settle_writes(driver);
}

BatchView AttentionBuffers::batch() const {
  BatchView view;
  view.rows = rows.as<std::int32_t>();
  view.token_to_req = token_to_req.as<std::int32_t>();
  view.query_pos = query_pos.as<std::int64_t>();
  view.seq_len = seq_len.as<std::int32_t>();
  view.page_table = page_table.as<std::int32_t>();
  view.bucket = options.bucket_rows();
  view.requests = options.requests;
  view.pages_per_request = pages_used(options) + 1;
  return view;
}

}  // namespace refrain
