#include "cli/step_flags.hpp"

#include <fmt/format.h>

#include <map>

#include "graphs/error.hpp"

namespace refrain {
namespace {

const std::map<std::string, StepKind> kSteps{{"grouped_prefill", StepKind::grouped}, {"xqa_decode", StepKind::xqa}};
const std::map<std::string, Dtype> kKv{{"fp16", Dtype::fp16}, {"bf16", Dtype::bf16}, {"e4m3", Dtype::e4m3}};

}  // namespace

StepOptions StepFlags::parsed() const {
  if (!step_given) throw Error(ErrorKind::usage, "--step", "required: grouped_prefill or xqa_decode", "");
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

void add_step_flags(CLI::App& app, StepFlags& flags) {
  StepOptions& step = flags.options;
  const auto choice = [](const auto& names) { return CLI::CheckedTransformer(names).description(""); };
  app.add_option("--step", step.step, "grouped_prefill or xqa_decode")
      ->transform(choice(kSteps))
      ->each([&flags](const std::string&) { flags.step_given = true; });
  app.add_option("--device", flags.device, "auto, host or cuda")
      ->check(CLI::IsMember({"auto", "host", "cuda"}).description(""));
  app.add_option("--rows", step.rows, "query rows, request-major (19)");
  app.add_option("--bucket", step.bucket, "rows that the graph is captured for (as --rows)");
  app.add_option("--requests", step.requests, "requests that the rows belong to (1)");
  app.add_option("--context", step.context, "tokens of each request, this step's included (2048)");
  app.add_option("--page-size", step.page_size, "tokens a KV page (32)");
  app.add_option("--kv", step.kv, "fp16, bf16 or e4m3")->transform(choice(kKv));
  app.add_option("--seed", step.seed, "of data, selection and page placement (1)");
  app.add_option("--fault", flags.faults, "named bugs to put back, comma-separated")->delimiter(',');
}

}  // namespace refrain
