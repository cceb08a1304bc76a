// mtp_verify: the decode of 1 + K query tokens a request, and then, on the device,
// which of the K drafted ones the target accepts. The logits are an input: the head
// that makes them belongs to a model.
#pragma once

#include "runtime/steps/attention/attention_step.hpp"
#include "runtime/steps/mtp/drafts.hpp"

namespace refrain {

class MtpStep final : public AttentionStep {
 public:
  /// Throws Error{refused} for E4M3 KV that is not admitted (mtp/admission.hpp).
  MtpStep(Driver& driver, BufferRegistry& registry, Arena& arena, const StepOptions& options);

  [[nodiscard]] const DraftBuffers& drafts() const noexcept { return drafts_; }

  void upload(Driver& driver) const override;
  void prepare(Recorder& recorder) const override;
  void record(Recorder& recorder) const override;
  [[nodiscard]] std::vector<OutputTensor> outputs() const override;
  [[nodiscard]] std::vector<PoisonAxis> poison_axes() const override;

 private:
  DraftBuffers drafts_;
};

}  // namespace refrain
