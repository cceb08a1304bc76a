// What one step is asked to be: shape, data, faults. Plain values, checked once.
#pragma once

#include <cstdint>
#include <limits>
#include <string>

#include "graphs/contract.hpp"
#include "kernels/mla_pool_view.hpp"
#include "kernels/verify_draft.hpp"
#include "runtime/steps/faults.hpp"

namespace refrain {

/// The geometry of the attention steps: 6 query heads on one KV head of dim 256.
inline constexpr std::int32_t kHeads = 6;
inline constexpr std::int32_t kHeadDim = 256;

/// Of an option whose default depends on the step: default_options() puts that in its place.
inline constexpr std::int32_t kByStep = std::numeric_limits<std::int32_t>::min();

struct StepOptions {
  StepKind step = StepKind::grouped;
  std::int32_t rows = kByStep;      ///< 19; sparse MLA 80 (prefill) and 8 (decode); mtp_verify requests * (1 + drafts)
  std::int32_t bucket = 0;          ///< 0: as many as rows, and 5 more for the faults that need pad rows
  std::int32_t requests = kByStep;  ///< 1; mtp_verify 3
  std::int32_t context = 2048;
  std::int32_t page_size = kByStep;  ///< 32; sparse MLA 256, through the page split, or 64
  Dtype kv = Dtype::e4m3;
  std::uint64_t seed = 1;
  FaultSet faults;
  bool pdl = false;  ///< programmatic dependent launch where kernels wait on the device

  // Sparse MLA.
  std::int32_t heads = 16, topk = 512;
  MlaRecord record = MlaRecord::e4m3_584;  ///< e4m3_584 alone has the page split
  bool sinks = false;
  // mtp_verify.
  std::int32_t drafts = 4;
  DraftRule draft_rule = DraftRule::greedy;
  std::string
      scales;  ///< of E4M3 KV: an overlay, a checkpoint or a safetensors file; empty: calibrated on the step's data
  bool allow_e4m3_mtp = false;  ///< E4M3 KV under a draft is admitted only where somebody says so

  [[nodiscard]] std::int32_t bucket_rows() const noexcept {
    const bool padded = faults.any_of({Fault::pad_rows_unwritten, Fault::stale_padding, Fault::null_block_written});
    return bucket != 0 ? bucket : rows + (padded ? 5 : 0);
  }
  /// Rows that the ops write: the whole bucket, but for the fault `pad-rows-unwritten`.
  [[nodiscard]] std::int32_t written_rows() const noexcept {
    return faults.has(Fault::pad_rows_unwritten) ? rows : bucket_rows();
  }
  /// Through page_split: 256-token pages of the records that it knows.
  [[nodiscard]] bool splits_pages() const noexcept { return is_mla(step) && page_size == 256; }
  /// Whether the step has groups of 8 rows at all: a bucket of fewer goes to XQA whole.
  [[nodiscard]] bool grouped() const noexcept { return step == StepKind::grouped && written_rows() >= 8; }
  /// fp16, or bf16 over a bf16 cache.
  [[nodiscard]] Dtype q_dtype() const noexcept { return kv == Dtype::bf16 ? Dtype::bf16 : Dtype::fp16; }
  /// Tokens a split covers.
  [[nodiscard]] std::int32_t partition_tokens() const noexcept { return kv == Dtype::e4m3 ? 256 : 1024; }
  /// Of the 1,024 tokens: with few blocks in a launch, each takes a multiprocessor.
  [[nodiscard]] bool wide_splits() const noexcept { return kv != Dtype::e4m3; }
};

/// The options with the step's defaults in place of kByStep.
[[nodiscard]] StepOptions default_options(StepOptions options);

/// One line for people: what the step is asked to be, its name and the device left out.
[[nodiscard]] std::string describe(const StepOptions& options);
/// What a graph of this step may not be shared across: `rows=24 page_size=32 kv=e4m3`.
[[nodiscard]] std::string bucket_key(const StepOptions& options);

/// Throws Error{usage}, one line, for an option or a fault that does not fit.
void validate(const StepOptions& options);

}  // namespace refrain
