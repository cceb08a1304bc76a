// The device memory of an attention-only model: weights, one pool a layer under the
// same page numbers, and scratch for each phase, as large as the phase's largest step;
// smaller steps use the front of each array. What the bytes hold is not its affair.
#pragma once

#include <array>
#include <vector>

#include "runtime/arena.hpp"
#include "runtime/model/attention_only_shape.hpp"

namespace refrain {

/// [a, b] of a layer's geometry: q [heads * dim, width], k and v [kv_heads * dim, width], o [width, heads * value_dim].
/// In an MLA layer k makes the latent [dim, width], and v and scales are empty.
struct AttentionOnlyLayer {
  LayerKind kind = LayerKind::dense;
  Lease norm;  ///< [width]
  Lease q, k, v, o;
  Lease scales;  ///< fp32 [2]: of K, of V
  Lease pool;

  [[nodiscard]] std::array<const Lease*, 7> all() const { return {&norm, &q, &k, &v, &o, &scales, &pool}; }
};

/// One plan of plan_xqa, for all layers of its kind.
struct XqaPlan {
  Lease keys;                ///< sparse, [slots, kXqaSlots]
  Lease slot_rows, lengths;  ///< [slots]
  Lease active_partitions;   ///< [1]
  Lease counters;            ///< [layers of the kind, slots, heads]

  [[nodiscard]] std::array<const Lease*, 5> all() const {
    return {&keys, &slot_rows, &lengths, &active_partitions, &counters};
  }
};

/// Between the ops of one step; nothing in it outlives the step. What layers of several kinds use one after another is
/// as large as the largest needs it.
struct AttentionOnlyScratch {
  Lease residual, normed, branch;  ///< [rows, width]; branch: what a layer adds to the residual
  Lease mla_normed, mla_branch;    ///< bf16 [rows, width]: to and from MLA layers, where the stream is fp16
  Lease q, k, v, attended;         ///< [rows, ...] of the layer's geometry
  Lease attended_lse;              ///< [rows, heads]
  Lease partials, partial_lse;     ///< fp32 [slots, heads, splits, value_dim], [slots, heads, splits]
  XqaPlan dense, sparse;
  Lease selected;                    ///< [rows, kSelectedWidth]
  Lease microblocks, masks, tokens;  ///< prefill: plan_grouped's
  Lease indices, index_lengths;      ///< [rows, topk], [rows]
  Lease touched, split_scratch;      ///< where pages are split
  Lease sampled;                     ///< prefill, [requests, width]: the rows whose logits are wanted
  Lease logits;                      ///< fp32 [logits_rows, vocab]
  Lease gemm_workspace;

  /// Some are empty: in a phase that is not served all of them.
  [[nodiscard]] std::vector<const Lease*> all() const;
};

struct AttentionOnlyMemory {
  Lease embedding, final_norm, head;  ///< [vocab, width], [width], [vocab, width]
  std::vector<AttentionOnlyLayer> layers;
  std::array<AttentionOnlyScratch, 3> scratch;  ///< by phase

  [[nodiscard]] const AttentionOnlyScratch& of(Phase phase) const { return scratch[static_cast<std::size_t>(phase)]; }
  /// Weights and pools: what is written once.
  [[nodiscard]] std::vector<const Lease*> kept() const;
};

/// Throws Error{refused} when the arena is full.
[[nodiscard]] AttentionOnlyMemory lease_attention_only(Arena& arena, const AttentionOnlyShape& shape,
                                                       const ServingLimits& limits);
/// What those leases take of an arena, to the byte.
[[nodiscard]] ArenaSize attention_only_size(const AttentionOnlyShape& shape, const ServingLimits& limits);

}  // namespace refrain
