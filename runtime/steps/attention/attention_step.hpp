// grouped_prefill and xqa_decode: one layer of paged attention over a GQA cache, with
// the pages of several requests, kv_append first.
#pragma once

#include "runtime/owned_stream.hpp"
#include "runtime/steps/attention/buffers.hpp"
#include "runtime/steps/step.hpp"

namespace refrain {

class AttentionStep : public Step {
 public:
  /// `scales`: K and V, 1 for a pool that is not E4M3.
  AttentionStep(Driver& driver, BufferRegistry& registry, Arena& arena, const StepOptions& options,
                std::array<float, 2> scales = {1.0f, 1.0f});

  [[nodiscard]] const AttentionBuffers& buffers() const noexcept { return buffers_; }
  [[nodiscard]] const AttentionInputs& inputs() const noexcept { return inputs_; }

  void upload(Driver& driver) const override { buffers_.upload(driver, inputs_); }
  void prepare(Recorder& recorder) const override;
  void record(Recorder& recorder) const override;
  void break_after_capture(RecordingDriver& driver) override;
  [[nodiscard]] std::vector<OutputTensor> outputs() const override { return buffers_.output.tensors(options()); }
  [[nodiscard]] std::vector<PoisonAxis> poison_axes() const override;
  void poison_page0(Driver& driver, Poison poison) const override;
  [[nodiscard]] std::vector<double> reference(Driver& driver) const override;
  /// Every row through XQA.
  [[nodiscard]] std::optional<Output> other_route(Recorder& recorder) const override;

 private:
  Arena& arena_;
  AttentionBuffers buffers_;
  AttentionInputs inputs_;
  OwnedStream side_;  ///< buffers_.side: the fault `other-stream` leaves work on it that nobody waits for
};

}  // namespace refrain
