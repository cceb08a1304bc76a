#include "runtime/model/attention_only_memory.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "kernels/sparse_mla.hpp"
#include "runtime/model/lease_taker.hpp"

namespace refrain {
namespace {

constexpr LayerKind kKinds[] = {LayerKind::dense, LayerKind::sparse, LayerKind::mla};

/// Page 0, the null block, is nobody's to write.
LeaseRequest pool_request(const AttentionOnlyShape& s, const ServingLimits& limits, LayerKind kind, std::string name) {
  if (kind != LayerKind::mla) {
    const KvPoolView pool = s.pool(kind, limits.pages);
    return {std::move(name), pool.bytes(), Role::kv_pool, pool.dtype, {0, pool.page_bytes()}};
  }
  const MlaPoolView pool = s.mla_pool(limits.pages);
  const Dtype dtype = pool.record == MlaRecord::bf16 ? Dtype::bf16 : Dtype::e4m3;
  return {std::move(name), pool.bytes(), Role::kv_pool, dtype, {0, static_cast<std::uint64_t>(pool.page_bytes())}};
}

AttentionOnlyLayer take_layer(LeaseTaker& taker, const AttentionOnlyShape& s, const ServingLimits& limits,
                              std::int32_t number) {
  AttentionOnlyLayer layer;
  layer.kind = AttentionOnlyShape::kind(number);
  const LayerGeometry g = s.geometry(layer.kind);
  const auto name = [&](const char* what) { return fmt::format("layer {} {}", number, what); };
  const auto matrix = [&](const char* what, std::int64_t rows, std::int64_t columns) {
    return taker.take(name(what), Role::weights, g.dtype, rows, columns);
  };
  const bool is_mla = layer.kind == LayerKind::mla;
  layer.norm = taker.take(name("norm"), Role::weights, s.dtype(), s.width);
  layer.q = matrix("Wq", std::int64_t{g.heads} * g.dim, s.width);
  layer.k = matrix(is_mla ? "Wlatent" : "Wk", std::int64_t{g.kv_heads} * g.dim, s.width);
  if (!is_mla) layer.v = matrix("Wv", std::int64_t{g.kv_heads} * g.dim, s.width);
  layer.o = matrix("Wo", s.width, std::int64_t{g.heads} * g.value_dim);
  if (!is_mla) layer.scales = taker.take(name("KV scales"), Role::weights, Dtype::fp32, 2);
  layer.pool = taker.take(pool_request(s, limits, layer.kind, name("kv_pool")));
  return layer;
}

/// Takes one phase's scratch; everything is [rows, ...] but what says otherwise.
class ScratchTaker {
 public:
  ScratchTaker(LeaseTaker& taker, const AttentionOnlyShape& shape, const ServingLimits& limits, Phase phase)
      : taker_(taker), s_(shape), limits_(limits), phase_(phase), size_(size_of(limits, phase)) {}

  AttentionOnlyScratch take() {
    AttentionOnlyScratch x;
    if (size_.rows == 0) return x;
    take_activations(x);
    take_splits(x);
    if (s_.count(LayerKind::dense) > 0) x.dense = take_plan(LayerKind::dense, size_.rows);
    if (s_.count(LayerKind::sparse) > 0) take_sparse(x);
    if (s_.count(LayerKind::mla) > 0) take_mla(x);
    if (phase_ == Phase::prefill)
      x.sampled = one("sampled rows", Role::workspace, s_.dtype(), size_.logits_rows, s_.width);
    x.logits = one("logits", Role::workspace, Dtype::fp32, size_.logits_rows, s_.vocab);
    x.gemm_workspace = one("GEMM workspace", Role::workspace, Dtype::u8, s_.gemm_workspace_bytes);
    return x;
  }

 private:
  template <class... Counts>
  Lease one(const std::string& name, Role role, Dtype dtype, Counts... counts) {
    return taker_.take(fmt::format("{} {}", to_string(phase_), name), role, dtype, counts...);
  }

  /// The most that `elements` gives of the kinds that the model has.
  template <class Elements>
  [[nodiscard]] std::int64_t most(Elements elements) const {
    std::int64_t largest = 0;
    for (const LayerKind kind : kKinds)
      if (s_.count(kind) > 0) largest = std::max(largest, std::int64_t{elements(kind, s_.geometry(kind))});
    return largest;
  }

  /// Rows of sparse layers that XQA serves: what whole groups leave.
  [[nodiscard]] std::int32_t sparse_slots() const {
    return phase_ == Phase::prefill ? std::min(size_.rows, kGroupRows - 1) : size_.rows;
  }

  /// Rows, heads and splits of one kind's partials.
  [[nodiscard]] std::int64_t split_rows(LayerKind kind, const LayerGeometry& g) const {
    if (kind == LayerKind::mla)
      return std::int64_t{std::min(size_.rows, kMlaDecodeRows)} * g.heads * s_.mla_splitting().splits;
    const std::int64_t slots = kind == LayerKind::sparse ? sparse_slots() : size_.rows;
    return slots * g.heads * s_.partitions(kind, limits_.context);
  }

  void take_activations(AttentionOnlyScratch& x) {
    const auto activation = [&](const char* name, std::int64_t columns) {
      return one(name, Role::workspace, s_.dtype(), size_.rows, columns);
    };
    x.residual = activation("residual", s_.width);
    x.normed = activation("normed", s_.width);
    x.branch = activation("branch", s_.width);
    if (s_.dtype() != Dtype::bf16 && s_.count(LayerKind::mla) > 0) {
      x.mla_normed = one("normed for MLA", Role::workspace, Dtype::bf16, size_.rows, s_.width);
      x.mla_branch = one("branch of MLA", Role::workspace, Dtype::bf16, size_.rows, s_.width);
    }
    x.q = activation("q", most([](LayerKind, const LayerGeometry& g) { return g.heads * g.dim; }));
    x.k = activation("k", most([](LayerKind, const LayerGeometry& g) { return g.kv_heads * g.dim; }));
    x.v = activation("v", most([](LayerKind kind, const LayerGeometry& g) {
                       return kind == LayerKind::mla ? 0 : g.kv_heads * g.dim;
                     }));
    x.attended = activation("attended", most([](LayerKind, const LayerGeometry& g) { return g.heads * g.value_dim; }));
    x.attended_lse = one("attended LSE", Role::workspace, Dtype::fp32, size_.rows,
                         most([](LayerKind, const LayerGeometry& g) { return g.heads; }));
  }

  void take_splits(AttentionOnlyScratch& x) {
    x.partials = one("split partials", Role::workspace, Dtype::fp32,
                     most([&](LayerKind kind, const LayerGeometry& g) { return split_rows(kind, g) * g.value_dim; }));
    x.partial_lse = one("split LSE", Role::workspace, Dtype::fp32,
                        most([&](LayerKind kind, const LayerGeometry& g) { return split_rows(kind, g); }));
  }

  XqaPlan take_plan(LayerKind kind, std::int64_t slots) {
    const auto plan = [&](const char* name, Role role, Dtype dtype, std::int64_t count) {
      return one(fmt::format("{} {}", to_string(kind), name), role, dtype, count);
    };
    XqaPlan x;
    if (kind == LayerKind::sparse) x.keys = plan("keys", Role::plan, Dtype::i64, slots * kXqaSlots);
    x.slot_rows = plan("slot_rows", Role::plan, Dtype::i32, slots);
    x.lengths = plan("lengths", Role::plan, Dtype::i32, slots);
    x.active_partitions = plan("active_partitions", Role::plan, Dtype::i32, 1);
    x.counters = plan("split counters", Role::scratch, Dtype::i32, s_.count(kind) * slots * s_.geometry(kind).heads);
    return x;
  }

  void take_sparse(AttentionOnlyScratch& x) {
    x.sparse = take_plan(LayerKind::sparse, sparse_slots());
    x.selected = one("selected tokens", Role::plan, Dtype::i32, size_.rows, kSelectedWidth);
    if (phase_ != Phase::prefill || size_.rows < kGroupRows) return;
    const std::int64_t groups = (size_.rows + kGroupRows - 1) / kGroupRows;
    x.microblocks = one("microblocks", Role::plan, Dtype::i32, groups, kGroupedWidth);
    x.masks = one("masks", Role::plan, Dtype::u32, groups, kGroupedWidth);
    x.tokens = one("group tokens", Role::plan, Dtype::i32, groups);
  }

  void take_mla(AttentionOnlyScratch& x) {
    x.indices = one("selected slots", Role::plan, Dtype::i32, size_.rows, s_.topk);
    x.index_lengths = one("topk lengths", Role::plan, Dtype::i32, size_.rows);
    if (!s_.splits_pages()) return;
    x.touched = one("touched pages", Role::scratch, Dtype::u8, limits_.pages);
    x.split_scratch = one("split scratch", Role::scratch, Dtype::u8,
                          static_cast<std::int64_t>(s_.split_scratch(limits_.pages).bytes()));
  }

  LeaseTaker& taker_;
  const AttentionOnlyShape& s_;
  const ServingLimits& limits_;
  Phase phase_;
  PhaseSize size_;
};

AttentionOnlyMemory take_all(LeaseTaker& taker, const AttentionOnlyShape& s, const ServingLimits& limits) {
  AttentionOnlyMemory memory;
  memory.embedding = taker.take("embedding", Role::weights, s.dtype(), s.vocab, s.width);
  for (std::int32_t number = 0; number < s.layers; ++number)
    memory.layers.push_back(take_layer(taker, s, limits, number));
  memory.final_norm = taker.take("final norm", Role::weights, s.dtype(), s.width);
  memory.head = taker.take("head", Role::weights, s.dtype(), s.vocab, s.width);
  for (const Phase phase : kPhases) {
    const auto number = static_cast<std::uint32_t>(phase);
    taker.go_to_overlay(1 + number);
    memory.scratch[number] = ScratchTaker(taker, s, limits, phase).take();
  }
  return memory;
}

}  // namespace

std::vector<const Lease*> AttentionOnlyScratch::all() const {
  std::vector<const Lease*> leases = {&residual,
                                      &normed,
                                      &branch,
                                      &mla_normed,
                                      &mla_branch,
                                      &q,
                                      &k,
                                      &v,
                                      &attended,
                                      &attended_lse,
                                      &partials,
                                      &partial_lse,
                                      &selected,
                                      &microblocks,
                                      &masks,
                                      &tokens,
                                      &indices,
                                      &index_lengths,
                                      &touched,
                                      &split_scratch,
                                      &sampled,
                                      &logits,
                                      &gemm_workspace};
  for (const XqaPlan* plan : {&dense, &sparse})
    for (const Lease* lease : plan->all()) leases.push_back(lease);
  return leases;
}

std::vector<const Lease*> AttentionOnlyMemory::kept() const {
  std::vector<const Lease*> leases = {&embedding, &final_norm, &head};
  for (const AttentionOnlyLayer& layer : layers)
    for (const Lease* lease : layer.all())
      if (*lease) leases.push_back(lease);
  return leases;
}

AttentionOnlyMemory lease_attention_only(Arena& arena, const AttentionOnlyShape& shape, const ServingLimits& limits) {
  LeaseTaker taker(&arena);
  return take_all(taker, shape, limits);
}

ArenaSize attention_only_size(const AttentionOnlyShape& shape, const ServingLimits& limits) {
  LeaseTaker counting(nullptr);
  (void)take_all(counting, shape, limits);
  return counting.size();
}

}  // namespace refrain
