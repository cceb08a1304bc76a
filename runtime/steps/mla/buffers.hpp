// The memory of one sparse MLA step: leases for its inputs, the pool, the page
// split's scratch, split partials and outputs. Sizes follow from the options; one
// table lists the leases, for the arena's size and for taking them.
#pragma once

#include <memory>

#include "kernels/merge_mla.hpp"
#include "kernels/page_split.hpp"
#include "kernels/sparse_mla.hpp"
#include "runtime/arena.hpp"
#include "runtime/output.hpp"
#include "runtime/steps/mla/inputs.hpp"
#include "runtime/steps/unguarded.hpp"

namespace refrain {

/// How a row's entries are cut for the decode: about 16 splits of whole chunks.
struct MlaSplits {
  std::int32_t count = 0, entries = 0;
};

class MlaBuffers {
 public:
  /// Throws Error{refused} when the arena is too small.
  MlaBuffers(Driver& driver, BufferRegistry& registry, Arena& arena, const StepOptions& options);

  [[nodiscard]] static std::uint64_t arena_bytes(const StepOptions& options);

  /// Writes the host's arrays into the leases, blocking: of the pool the pages from inputs.first_page on. Throws
  /// Error{driver}.
  void upload(Driver& driver, const MlaInputs& inputs) const;

  /// Whether the bucket goes to the split decode and its merge; if not, to the prefill.
  [[nodiscard]] bool decodes() const noexcept { return options.bucket_rows() <= kMlaDecodeRows; }
  [[nodiscard]] MlaPoolView source() const;   ///< the pool
  [[nodiscard]] MlaPoolView scratch() const;  ///< of the page split; only where the step splits pages
  [[nodiscard]] std::int64_t split_rows() const noexcept {
    return std::int64_t{options.bucket_rows()} * options.heads * splits.count;
  }
  [[nodiscard]] std::vector<OutputTensor> outputs() const;

  [[nodiscard]] PageSplitArgs split_args() const;
  /// Of both ops, over the scratch where the step splits pages.
  [[nodiscard]] SparseMlaArgs attention_args() const;
  [[nodiscard]] MergeMlaArgs merge_args() const;

  StepOptions options;
  MlaSplits splits;
  Lease touched, scratch_lease;  ///< where the step splits pages
  Lease below;                   ///< for the fault `split-int32-offsets`: puts the touched mask 2 GiB below the scratch
  Lease pool, rows, q, indices, lengths, sinks;
  Lease partials, partial_lse;  ///< where the step decodes
  Lease out, lse;
  std::unique_ptr<UnguardedWorkspace> unguarded;  ///< in place of `scratch_lease`, for the fault `split-grown`
};

}  // namespace refrain
