#include "runtime/steps/mtp/admission.hpp"

#include <utility>

#include "graphs/error.hpp"
#include "runtime/scales/load_scales.hpp"

namespace refrain {
namespace {

constexpr float kLargestE4m3 = 448.0f;
// Largest absolute values that a calibration of N(0, 1) keys and N(0, 0.25^2) values would see.
constexpr float kKeyAbsmax = 6.0f, kValueAbsmax = 1.5f;

Scale calibrated(float absmax, const char* tensor) {
  return {absmax / kLargestE4m3, true, tensor, "the step's own data"};
}

LoadedScales calibrated_on_data(const StepOptions& o) {
  LoadedScales found;
  LayerScales target{LayerRole::target, 0, "model.layers.0", "model.layers.0", {}, {}};
  target.k = calibrated(kKeyAbsmax, "model.layers.0.self_attn.k_scale");
  target.v = calibrated(kValueAbsmax, "model.layers.0.self_attn.v_scale");
  LayerScales draft{LayerRole::draft, 0, "mtp.layers.0", "model.layers.1", {}, {}};
  draft.k = calibrated(kKeyAbsmax, "mtp.layers.0.self_attn.k_scale");
  draft.v = calibrated(kValueAbsmax, "mtp.layers.0.self_attn.v_scale");
  if (o.faults.has(Fault::draft_scale_missing)) draft.v = {1.0f, false, draft.v.tensor, ""};
  found.scales.layers = {std::move(target), std::move(draft)};
  return found;
}

/// Every layer that is there, and the first draft layer whether it is there or not.
LayersWanted all_of(const ScaleSet& scales) {
  LayersWanted wanted;
  for (const LayerScales& layer : scales.layers)
    (layer.role == LayerRole::target ? wanted.target : wanted.draft).push_back(layer.layer);
  if (wanted.draft.empty()) wanted.draft.push_back(0);
  if (wanted.target.empty()) wanted.target.push_back(0);
  return wanted;
}

}  // namespace

std::array<float, 2> admitted_scales(const StepOptions& o) {
  if (o.kv != Dtype::e4m3) return {1.0f, 1.0f};
  LoadScalesOptions policy;
  policy.allow_draft_e4m3 = o.allow_e4m3_mtp;
  const std::string source = o.scales.empty() ? "step mtp_verify" : o.scales;
  if (!o.allow_e4m3_mtp)
    throw Error(ErrorKind::refused, "E4M3 KV under a draft",
                "expected --allow-e4m3-mtp, found that it was not given; give it once the draft's K and V scales are "
                "calibrated, or use --kv fp16 or bf16",
                source);
  LoadedScales found = o.scales.empty() ? calibrated_on_data(o) : find_scales(o.scales, policy);
  const LayersWanted wanted = all_of(found.scales);
  const LoadedScales admitted = admit_scales(std::move(found), wanted, source, policy);
  const LayerScales* target = admitted.scales.find(LayerRole::target, wanted.target.front());
  return {target->k.value, target->v.value};
}

}  // namespace refrain
