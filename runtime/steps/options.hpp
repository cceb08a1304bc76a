// What one step is asked to be: shape, data, faults. Plain values, checked once.
#pragma once

#include <cstdint>

#include "graphs/contract.hpp"
#include "runtime/steps/faults.hpp"

namespace refrain {

/// The attention geometry of both steps: 6 query heads on one KV head of dim 256.
inline constexpr std::int32_t kHeads = 6;
inline constexpr std::int32_t kHeadDim = 256;

struct StepOptions {
  StepKind step = StepKind::grouped;
  std::int32_t rows = 19;
  std::int32_t bucket = 0;  ///< 0: as many as rows, and 5 more for the faults that need pad rows
  std::int32_t requests = 1;
  std::int32_t context = 2048;
  std::int32_t page_size = 32;
  Dtype kv = Dtype::e4m3;
  std::uint64_t seed = 1;
  FaultSet faults;

  [[nodiscard]] std::int32_t bucket_rows() const noexcept {
    const bool padded = faults.any_of({Fault::pad_rows_unwritten, Fault::stale_padding, Fault::null_block_written});
    return bucket != 0 ? bucket : rows + (padded ? 5 : 0);
  }
  /// Rows that the ops write: the whole bucket, but for the fault `pad-rows-unwritten`.
  [[nodiscard]] std::int32_t written_rows() const noexcept {
    return faults.has(Fault::pad_rows_unwritten) ? rows : bucket_rows();
  }
  /// Whether the step has groups of 8 rows at all: a bucket of fewer goes to XQA whole.
  [[nodiscard]] bool grouped() const noexcept { return step == StepKind::grouped && written_rows() >= 8; }
  /// fp16, or bf16 over a bf16 cache.
  [[nodiscard]] Dtype q_dtype() const noexcept { return kv == Dtype::bf16 ? Dtype::bf16 : Dtype::fp16; }
  /// Tokens a split covers.
  [[nodiscard]] std::int32_t partition_tokens() const noexcept { return kv == Dtype::e4m3 ? 256 : 1024; }
};

/// Throws Error{usage}, one line, for an option or a fault that does not fit.
void validate(const StepOptions& options);

}  // namespace refrain
