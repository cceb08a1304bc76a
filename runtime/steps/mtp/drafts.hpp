// What draft verification adds to a decode: the target's logits, the draft's tokens
// and probabilities, and what comes out of them. A request has 1 + K rows; pad rows
// that do not fill a request make one that is none.
#pragma once

#include <vector>

#include "kernels/verify_draft.hpp"
#include "runtime/arena.hpp"
#include "runtime/output.hpp"
#include "runtime/recorder.hpp"
#include "runtime/steps/fills.hpp"
#include "runtime/steps/options.hpp"

namespace refrain {

inline constexpr std::int32_t kDraftVocab = 1000;

/// Made from the seed. Four of five draft tokens are the target's argmax; every third request drafted fewer than K, and
/// what stands past them is garbage.
struct DraftInputs {
  explicit DraftInputs(const StepOptions& options);

  std::int32_t requests = 0;                ///< of the bucket
  std::vector<float> logits;                ///< [requests, 1 + drafts, vocab]: N(0, 3^2)
  std::vector<std::int32_t> tokens;         ///< [requests, drafts]
  std::vector<std::int32_t> lengths;        ///< [requests]
  std::vector<float> probs;                 ///< [requests, drafts, vocab]; empty for greedy
  std::vector<std::uint64_t> seed;          ///< [2]
  std::vector<std::int32_t> real_requests;  ///< [1]
};

class DraftBuffers {
 public:
  DraftBuffers(Arena& arena, const StepOptions& options);
  [[nodiscard]] static std::uint64_t arena_bytes(const StepOptions& options);

  void upload(Driver& driver) const;
  void declare_entry(Recorder& recorder) const;
  [[nodiscard]] VerifyDraftArgs args() const;
  [[nodiscard]] std::vector<OutputTensor> tensors() const;
  /// Drafts past their length, pad requests, and the outputs. They live no longer than this.
  [[nodiscard]] std::vector<PoisonAxis> axes() const;
  [[nodiscard]] const DraftInputs& inputs() const noexcept { return inputs_; }

 private:
  void poison_past_length(Driver& driver, Fill fill) const;
  void poison_pads(Driver& driver, Fill fill) const;
  void poison_outputs(Driver& driver, Fill fill) const;

  StepOptions options_;
  DraftInputs inputs_;
  Lease logits_, tokens_, lengths_, probs_, seed_, real_requests_, accepted_, next_;
};

}  // namespace refrain
