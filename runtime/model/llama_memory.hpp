// The device memory of a Llama-shaped decoder: weights, one KV pool a layer under the
// same page numbers, and scratch for each phase, as large as the phase's largest step;
// smaller steps use the front of each array. What the bytes hold is not its affair.
#pragma once

#include <array>
#include <vector>

#include "runtime/arena.hpp"
#include "runtime/model/llama_shape.hpp"

namespace refrain {

struct LlamaLayer {
  Lease attention_norm, ffn_norm;  ///< [width]
  Lease qkv;                       ///< [(heads + 2 * kv_heads) * dim, width]: Wq, Wk and Wv, one upon the other
  Lease o;                         ///< [width, heads * dim]
  Lease gate_up;                   ///< [2 * ffn, width]
  Lease down;                      ///< [width, ffn]
  Lease scales;                    ///< fp32 [2]: of K, of V
  Lease pool;

  [[nodiscard]] std::array<const Lease*, 8> all() const {
    return {&attention_norm, &ffn_norm, &qkv, &o, &gate_up, &down, &scales, &pool};
  }
};

/// Between the ops of one step; nothing in it outlives the step.
struct LlamaScratch {
  Lease residual, normed, branch;  ///< [rows, width]; branch: what a layer's half adds to the residual
  Lease qkv;                       ///< [rows, heads + 2 * kv_heads, dim]
  Lease q, attended;               ///< [rows, heads, dim]; q: rotated
  Lease attended_lse;              ///< [rows, heads]
  Lease gate_up, gated;            ///< [rows, 2 * ffn], [rows, ffn]
  Lease slot_rows, lengths;        ///< [rows]
  Lease active_partitions;         ///< [1]
  Lease counters;                  ///< [layers, rows, heads]
  Lease partials, partial_lse;     ///< fp32 [rows, heads, partitions, dim], [rows, heads, partitions]
  Lease sampled;                   ///< prefill, [requests, width]: the rows whose logits are wanted
  Lease logits;                    ///< fp32 [logits_rows, vocab]
  Lease gemm_workspace;

  /// Some are empty: in a phase that is not served all of them.
  [[nodiscard]] std::array<const Lease*, 18> all() const {
    return {&residual,     &normed,   &branch,      &qkv,       &q,       &attended,
            &attended_lse, &gate_up,  &gated,       &slot_rows, &lengths, &active_partitions,
            &counters,     &partials, &partial_lse, &sampled,   &logits,  &gemm_workspace};
  }
};

struct LlamaMemory {
  Lease embedding, final_norm, head;  ///< [vocab, width], [width], [vocab, width]
  std::vector<LlamaLayer> layers;
  std::array<LlamaScratch, 3> scratch;  ///< by phase

  [[nodiscard]] const LlamaScratch& of(Phase phase) const { return scratch[static_cast<std::size_t>(phase)]; }
  /// Weights and pools: what is written once.
  [[nodiscard]] std::vector<const Lease*> kept() const;
};

/// Throws Error{refused} when the arena is full.
[[nodiscard]] LlamaMemory lease_llama(Arena& arena, const LlamaShape& shape, const ServingLimits& limits);
/// What those leases take of an arena, to the byte.
[[nodiscard]] ArenaSize llama_size(const LlamaShape& shape, const ServingLimits& limits);

}  // namespace refrain
