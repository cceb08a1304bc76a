#include "runtime/steps/step.hpp"

#include "runtime/steps/attention/attention_step.hpp"
#include "runtime/steps/mla/mla_step.hpp"
#include "runtime/steps/mtp/mtp_step.hpp"
#include "runtime/transfer.hpp"

namespace refrain {

std::unique_ptr<Step> make_step(Driver& driver, BufferRegistry& registry, Arena& arena, const StepOptions& options) {
  if (is_mla(options.step)) return std::make_unique<MlaStep>(driver, registry, arena, options);
  if (options.step == StepKind::mtp_verify) return std::make_unique<MtpStep>(driver, registry, arena, options);
  return std::make_unique<AttentionStep>(driver, registry, arena, options);
}

std::uint64_t step_arena_bytes(const StepOptions& options) {
  if (is_mla(options.step)) return MlaBuffers::arena_bytes(options);
  const std::uint64_t drafts = options.step == StepKind::mtp_verify ? DraftBuffers::arena_bytes(options) : 0;
  return AttentionBuffers::arena_bytes(options) + drafts;
}

void apply_poison(Driver& driver, const Step& step, Poison poison) {
  if (poison == Poison::none) return;
  if (poison != Poison::all) step.poison_page0(driver, poison);
  if (poison == Poison::all)
    for (const PoisonAxis& axis : step.poison_axes()) axis.apply(driver, axis.fills.front());
  settle_writes(driver);
}

}  // namespace refrain
