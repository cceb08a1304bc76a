#include "cli/step_flags.hpp"

#include <fmt/format.h>

#include <map>

#include "graphs/error.hpp"

namespace refrain {
namespace {

const std::map<std::string, Dtype> kKv{{"fp16", Dtype::fp16}, {"bf16", Dtype::bf16}, {"e4m3", Dtype::e4m3}};
const std::map<std::string, MlaRecord> kRecords{
    {"584", MlaRecord::e4m3_584}, {"656", MlaRecord::e4m3_656}, {"bf16", MlaRecord::bf16}};
const std::map<std::string, DraftRule> kDraftRules{{"greedy", DraftRule::greedy}, {"rejection", DraftRule::rejection}};

std::map<std::string, StepKind> steps_by_name() {
  std::map<std::string, StepKind> names;
  for (const StepKind step : kStepKinds) names.emplace(to_string(step), step);
  return names;
}

/// `grouped_prefill, xqa_decode, ...`
std::string step_names() {
  std::string names;
  for (const StepKind step : kStepKinds) names += fmt::format("{}{}", names.empty() ? "" : ", ", to_string(step));
  return names;
}

}  // namespace

StepOptions StepFlags::parsed() const {
  if (!step_given) throw Error(ErrorKind::usage, "--step", "required: one of " + step_names(), "");
  StepOptions step = options;
  for (const std::string& name : faults) {
    const FaultInfo* fault = find_fault(name);
    if (fault == nullptr)
      throw Error(ErrorKind::usage, fmt::format("--fault {}", name), "no such fault; see refrain run --list-faults",
                  "");
    step.faults.add(fault->fault);
  }
  return step;
}

void add_step_flags(Options app, StepFlags& flags) {
  StepOptions& step = flags.options;
  app.add_choice("--step", step.step, steps_by_name(), step_names()).tells(flags.step_given);
  app.add_option("--device", flags.device, "auto, host or cuda").one_of({"auto", "host", "cuda"});
  app.add_option("--rows", step.rows,
                 "query rows, request-major (19; sparse MLA 80 and 8; mtp_verify requests x (1 + K))");
  app.add_option("--bucket", step.bucket, "rows that the graph is captured for (as --rows)");
  app.add_option("--requests", step.requests, "requests that the rows belong to (1; mtp_verify 3)");
  app.add_option("--context", step.context, "tokens of each request, this step's included (2048)");
  app.add_option("--page-size", step.page_size, "tokens a KV page (32; sparse MLA 256 through the page split, or 64)");
  app.add_choice("--kv", step.kv, kKv, "fp16, bf16 or e4m3; not of sparse MLA");
  app.add_option("--heads", step.heads, "sparse MLA: query heads (16)");
  app.add_option("--topk", step.topk, "sparse MLA: index entries a row (512)");
  app.add_choice("--record", step.record, kRecords, "sparse MLA: bytes of a token's record, 584 or 656, or bf16 (584)");
  app.add_flag("--sinks", step.sinks, "sparse MLA: attention sinks");
  app.add_option("--drafts", step.drafts, "mtp_verify: drafted tokens a request, K (4)");
  app.add_choice("--draft-rule", step.draft_rule, kDraftRules, "mtp_verify: greedy or rejection (greedy)");
  app.add_option("--scales", step.scales,
                 "mtp_verify: K/V scales from an overlay or checkpoint (calibrated on the step's own data)");
  app.add_flag("--allow-e4m3-mtp", step.allow_e4m3_mtp,
               "mtp_verify: admit E4M3 KV under a draft, whose scales must be calibrated");
  app.add_flag("--pdl", step.pdl, "programmatic dependent launch: kernels that wait on the device start early");
  app.add_option("--seed", step.seed, "of data, selection and page placement (1)");
  app.add_option("--fault", flags.faults, "named bugs to put back, comma-separated").delimiter(',');
}

}  // namespace refrain
