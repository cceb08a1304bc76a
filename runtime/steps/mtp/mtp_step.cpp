#include "runtime/steps/mtp/mtp_step.hpp"

#include <iterator>

#include "runtime/steps/mtp/admission.hpp"

namespace refrain {

MtpStep::MtpStep(Driver& driver, BufferRegistry& registry, Arena& arena, const StepOptions& options)
    : AttentionStep(driver, registry, arena, options, admitted_scales(options)), drafts_(arena, options) {}

void MtpStep::upload(Driver& driver) const {
  AttentionStep::upload(driver);
  drafts_.upload(driver);
}

void MtpStep::prepare(Recorder& recorder) const {
  AttentionStep::prepare(recorder);
  drafts_.declare_entry(recorder);
}

void MtpStep::record(Recorder& recorder) const {
  AttentionStep::record(recorder);
  recorder.launch(verify_draft, drafts_.args());
}

std::vector<OutputTensor> MtpStep::outputs() const {
  std::vector<OutputTensor> tensors = AttentionStep::outputs();
  const std::vector<OutputTensor> more = drafts_.tensors();
  tensors.insert(tensors.end(), more.begin(), more.end());
  return tensors;
}

std::vector<PoisonAxis> MtpStep::poison_axes() const {
  std::vector<PoisonAxis> axes = AttentionStep::poison_axes(), more = drafts_.axes();
  axes.insert(axes.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  return axes;
}

}  // namespace refrain
