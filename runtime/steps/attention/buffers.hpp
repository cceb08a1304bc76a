// The memory of one step: leases for what it reads, plans, keeps and writes,
// and the transfers between host arrays and them. Sizes follow from the options.
#pragma once

#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "kernels/batch_view.hpp"
#include "runtime/arena.hpp"
#include "runtime/kv_pool.hpp"
#include "runtime/output.hpp"
#include "runtime/steps/attention/inputs.hpp"
#include "runtime/steps/unguarded.hpp"
#include "runtime/transfer.hpp"

namespace refrain {

/// One XQA route's plan and workspace. Workspace partials are fp32 for E4M3 KV; the fault `workspace-fp16` makes them
/// fp16.
struct XqaBuffers {
  std::int32_t slots = 0;       ///< rows it can serve
  std::int32_t group_rows = 0;  ///< 8 when the grouped route serves whole groups, else 0
  std::int32_t partitions = 0;
  std::int32_t partition_tokens = 0;
  Dtype partial_dtype = Dtype::fp32;
  Lease keys, slot_rows, lengths, active_partitions, counters, partials, partial_lse;
  std::unique_ptr<UnguardedWorkspace> unguarded;  ///< in place of `partials`, for the faults that bypass the arena

  [[nodiscard]] Address partials_address() const noexcept {
    return unguarded ? unguarded->address() : partials.address();
  }
  [[nodiscard]] std::int64_t counter_count() const noexcept { return std::int64_t{slots} * kHeads; }
  [[nodiscard]] std::uint64_t partial_bytes() const noexcept {
    return static_cast<std::uint64_t>(counter_count()) * static_cast<std::uint64_t>(partitions) * kHeadDim *
           dtype_bytes(partial_dtype);
  }
  [[nodiscard]] std::uint64_t lse_bytes() const noexcept {
    return static_cast<std::uint64_t>(counter_count()) * static_cast<std::uint64_t>(partitions) * sizeof(float);
  }
};

struct GroupedBuffers {
  std::int32_t groups = 0;
  Lease microblocks, masks, tokens;
};

struct OutputBuffers {
  Lease out;  ///< [bucket, heads, dim], q_dtype
  Lease lse;  ///< [bucket, heads] fp32

  [[nodiscard]] std::vector<OutputTensor> tensors(const StepOptions& options) const;
};

class AttentionBuffers {
 public:
  /// Takes the pages and leases the rest. Throws Error{refused} when the arena is too small.
  AttentionBuffers(Driver& driver, BufferRegistry& registry, Arena& arena, const StepOptions& options);

  /// Bytes of arena that a step of these options takes, the comparison route included.
  [[nodiscard]] static std::uint64_t arena_bytes(const StepOptions& options);

  /// Writes the host's arrays into the leases, blocking. Throws Error{driver}.
  void upload(Driver& driver, const AttentionInputs& inputs) const;
  [[nodiscard]] BatchView batch() const;

  StepOptions options;
  KvPool pool;
  std::vector<std::vector<std::int32_t>> pages;  ///< by request
  Lease rows, token_to_req, query_pos, seq_len, page_table, selected, q, k, v, scales;
  Lease moved_q;  ///< for the fault `input-rebound`
  GroupedBuffers grouped;
  XqaBuffers xqa;
  OutputBuffers output;
  std::vector<std::int32_t> host_partitions;  ///< pageable; only the fault `workspace-on-host` copies it
  mutable std::vector<float> host_lse;        ///< pageable; only the faults `pageable-copy` and `sync-copy` write it
  float host_k_scale = 1.0f;                  ///< for the fault `unknown-pointer`
  Stream side{};                              ///< for the faults `other-stream` and `unjoined-fork`
};

/// Leases one XQA route; `slots` rows.
[[nodiscard]] XqaBuffers lease_xqa(Arena& arena, const StepOptions& options, std::int32_t slots,
                                   std::int32_t group_rows, Dtype partial_dtype);
[[nodiscard]] OutputBuffers lease_output(Arena& arena, const StepOptions& options);

}  // namespace refrain
