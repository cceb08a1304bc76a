#include "runtime/steps/mla/buffers.hpp"

#include <cmath>

#include "runtime/transfer.hpp"

namespace refrain {
namespace {

constexpr std::uint64_t kAlignment = 256;  // of leases
constexpr std::int32_t kSplitsARow = 16;

std::uint64_t u(std::int64_t count) {
  return static_cast<std::uint64_t>(count);
}

MlaSplits splits_of(const StepOptions& o) {
  const std::int32_t chunks = o.topk / kMlaChunk, each = (chunks + kSplitsARow - 1) / kSplitsARow;
  return {(chunks + each - 1) / each, each * kMlaChunk};
}

MlaPoolView scratch_shape(const StepOptions& o) {
  MlaPoolView shape = mla_pool_shape(o);
  shape.pages *= kSplitParts;
  shape.page_size = kSplitTokens;
  return shape;
}

struct Part {
  Lease MlaBuffers::*lease;
  LeaseRequest request;
};

/// Page 57,359's offset of 2,147,520,960 wraps to -2,147,446,336. With so many bytes in between, that is byte 192 of
/// the touched mask, whose end a page runs past: what is hit has a name and a size, whatever else the process holds.
std::uint64_t bytes_below(const StepOptions& o) {
  constexpr std::uint64_t kWrapped = 2'147'446'336;
  const std::uint64_t mask = (u(mla_pool_shape(o).pages) + kAlignment - 1) / kAlignment * kAlignment;
  return (kWrapped + kAlignment - 1) / kAlignment * kAlignment - mask;
}

void add_split(const StepOptions& o, std::vector<Part>& parts) {
  using B = MlaBuffers;
  parts.push_back({&B::touched, {"touched pages", u(mla_pool_shape(o).pages), Role::scratch, Dtype::u8}});
  if (o.faults.has(Fault::split_int32_offsets))
    parts.push_back({&B::below, {"below the scratch", bytes_below(o), Role::weights, Dtype::u8}});
  parts.push_back({&B::scratch_lease, {"split scratch", scratch_shape(o).bytes(), Role::scratch, Dtype::u8}});
}

/// In the order in which the arena hands them out.
std::vector<Part> parts_of(const StepOptions& o) {
  using B = MlaBuffers;
  const MlaPoolView shape = mla_pool_shape(o);
  const MlaSplits splits = splits_of(o);
  const std::uint64_t bucket = u(o.bucket_rows()), heads = bucket * u(o.heads), split_rows = heads * u(splits.count);
  std::vector<Part> parts;
  if (o.splits_pages()) add_split(o, parts);
  const Dtype dtype = o.record == MlaRecord::bf16 ? Dtype::bf16 : Dtype::e4m3;
  parts.push_back({&B::pool, {"kv_pool", shape.bytes(), Role::kv_pool, dtype, {0, u(shape.page_bytes())}}});
  parts.push_back({&B::rows, {"rows", 4, Role::input, Dtype::i32}});
  parts.push_back({&B::q, {"q", heads * u(shape.dim()) * 2, Role::input, Dtype::bf16}});
  parts.push_back({&B::indices, {"indices", bucket * u(o.topk) * 4, Role::input, Dtype::i32}});
  parts.push_back({&B::lengths, {"topk lengths", bucket * 4, Role::input, Dtype::i32}});
  if (o.sinks) parts.push_back({&B::sinks, {"sinks", u(o.heads) * 4, Role::weights, Dtype::fp32}});
  if (o.bucket_rows() <= kMlaDecodeRows) {
    parts.push_back({&B::partials, {"split partials", split_rows * kMlaValueDim * 4, Role::workspace, Dtype::fp32}});
    parts.push_back({&B::partial_lse, {"split LSE", split_rows * 4, Role::workspace, Dtype::fp32}});
  }
  parts.push_back({&B::out, {"out", heads * kMlaValueDim * 2, Role::output, Dtype::bf16}});
  parts.push_back({&B::lse, {"lse", heads * 4, Role::output, Dtype::fp32}});
  return parts;
}

}  // namespace

MlaBuffers::MlaBuffers(Driver& driver, BufferRegistry& registry, Arena& arena, const StepOptions& o)
    : options(o), splits(splits_of(o)) {
  for (Part& part : parts_of(o)) this->*part.lease = arena.lease(part.request);
  if (o.faults.has(Fault::split_grown)) {
    Buffer outside = registry[scratch_lease.id()];
    scratch_lease = Lease{};
    unguarded = std::make_unique<UnguardedWorkspace>(driver, registry, std::move(outside));
  }
}

std::uint64_t MlaBuffers::arena_bytes(const StepOptions& o) {
  std::uint64_t bytes = 0;
  for (const Part& part : parts_of(o)) bytes += (part.request.bytes + kAlignment - 1) / kAlignment * kAlignment;
  return bytes;
}

void MlaBuffers::upload(Driver& driver, const MlaInputs& in) const {
  write_array(driver, rows, in.rows);
  write_array(driver, q, in.q);
  write_array(driver, indices, in.indices);
  write_array(driver, lengths, in.lengths);
  if (options.sinks) write_array(driver, sinks, in.sinks);
  write_device(driver, pool.address() + u(in.first_page * source().page_bytes()), in.pool);
  settle_writes(driver);
}

MlaPoolView MlaBuffers::source() const {
  MlaPoolView view = mla_pool_shape(options);
  view.data = pool.as<std::byte>();
  return view;
}

MlaPoolView MlaBuffers::scratch() const {
  MlaPoolView view = scratch_shape(options);
  view.data = reinterpret_cast<std::byte*>(unguarded ? unguarded->address() : scratch_lease.address());
  return view;
}

std::vector<OutputTensor> MlaBuffers::outputs() const {
  const StepOptions& o = options;
  return {{"out", out.address(), Dtype::bf16, o.bucket_rows(), o.rows, o.heads, kMlaValueDim},
          {"lse", lse.address(), Dtype::fp32, o.bucket_rows(), o.rows, o.heads, 1}};
}

PageSplitArgs MlaBuffers::split_args() const {
  const FaultSet& faults = options.faults;
  PageSplitArgs args;
  args.source = source();
  args.scratch = scratch();
  args.indices = indices.as<std::int32_t>();
  args.lengths = lengths.as<std::int32_t>();
  args.real_rows = rows.as<std::int32_t>();
  args.rows = options.bucket_rows();
  args.topk = options.topk;
  args.touched = touched.as<std::uint8_t>();
  args.zero_touched = !faults.has(Fault::split_scratch_unzeroed);
  args.zero_page0 = !faults.any_of({Fault::split_scratch_unzeroed, Fault::split_zero_page0_off});
  args.int32_offsets = faults.has(Fault::split_int32_offsets);
  return args;
}

SparseMlaArgs MlaBuffers::attention_args() const {
  const StepOptions& o = options;
  SparseMlaArgs args;
  args.q = q.as<void>();
  args.pool = o.splits_pages() ? scratch() : source();
  args.zeroed_bytes = o.splits_pages() ? u(args.pool.page_bytes()) : 0;
  args.indices = indices.as<std::int32_t>();
  args.lengths = lengths.as<std::int32_t>();
  args.real_rows = rows.as<std::int32_t>();
  args.sinks = o.sinks && !decodes() ? sinks.as<float>() : nullptr;
  args.softmax_scale = 1.0f / std::sqrt(static_cast<float>(args.pool.dim()));
  args.rows = o.bucket_rows();
  args.heads = o.heads;
  args.topk = o.topk;
  args.chunk = kMlaChunk;
  args.faults = {.clamp_to_slot0 = o.faults.has(Fault::mla_clamp_slot0),
                 .neg_inf_max = o.faults.has(Fault::mla_neg_inf_max),
                 .mask_before_scale = o.faults.has(Fault::mla_mask_before_scale),
                 .past_length = o.faults.has(Fault::topk_past_length)};
  args.out = out.as<void>();
  args.lse = lse.as<float>();
  args.splits = splits.count;
  args.split_entries = splits.entries;
  args.partials = partials.as<float>();
  args.partial_lse = partial_lse.as<float>();
  return args;
}

MergeMlaArgs MlaBuffers::merge_args() const {
  MergeMlaArgs args;
  args.partials = partials.as<float>();
  args.partial_lse = partial_lse.as<float>();
  args.real_rows = rows.as<std::int32_t>();
  args.sinks = options.sinks ? sinks.as<float>() : nullptr;
  args.rows = options.bucket_rows();
  args.heads = options.heads;
  args.splits = splits.count;
  args.empty_by_value = options.faults.has(Fault::merge_empty_by_value);
  args.out = out.as<void>();
  args.lse = lse.as<float>();
  return args;
}

}  // namespace refrain
