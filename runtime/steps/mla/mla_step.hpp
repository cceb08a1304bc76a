// sparse_mla_prefill and sparse_mla_decode: one layer of sparse MLA over the records
// that every row's index list names, the page split first where the pool needs it.
#pragma once

#include "runtime/steps/mla/buffers.hpp"
#include "runtime/steps/step.hpp"

namespace refrain {

class MlaStep : public Step {
 public:
  MlaStep(Driver& driver, BufferRegistry& registry, Arena& arena, const StepOptions& options);

  [[nodiscard]] const MlaBuffers& buffers() const noexcept { return buffers_; }
  [[nodiscard]] const MlaInputs& inputs() const noexcept { return inputs_; }

  void upload(Driver& driver) const override { buffers_.upload(driver, inputs_); }
  void prepare(Recorder& recorder) const override;
  void record(Recorder& recorder) const override;
  void break_after_capture(RecordingDriver& driver) override;
  [[nodiscard]] std::vector<OutputTensor> outputs() const override { return buffers_.outputs(); }
  [[nodiscard]] std::vector<PoisonAxis> poison_axes() const override;
  void poison_page0(Driver& driver, Poison poison) const override;
  [[nodiscard]] std::vector<double> reference(Driver& driver) const override;

 private:
  MlaBuffers buffers_;
  MlaInputs inputs_;
};

}  // namespace refrain
