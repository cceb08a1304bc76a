// refrain run: options in, one report out.
#include <fmt/format.h>

#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "cli/load.hpp"
#include "cli/run_report.hpp"
#include "graphs/error.hpp"
#include "graphs/readers.hpp"
#include "runtime/host/host_driver.hpp"
#include "runtime/run.hpp"

namespace refrain {
namespace {

struct RunFlags {
  RunOptions options;
  std::string device = "auto";
  std::vector<std::string> faults;
  bool list_faults = false;
  std::string save_graph;
  Format format = Format::text;
};

const std::map<std::string, StepKind> kSteps{{"grouped_prefill", StepKind::grouped_prefill},
                                             {"xqa_decode", StepKind::xqa_decode}};
const std::map<std::string, Dtype> kKv{{"fp16", Dtype::fp16}, {"bf16", Dtype::bf16}, {"e4m3", Dtype::e4m3}};
const std::map<std::string, Poison> kPoisons{{"none", Poison::none},
                                             {"null-block", Poison::null_block},
                                             {"random-page0", Poison::random_page0},
                                             {"all", Poison::all}};

std::string steps_of(const FaultInfo& fault) {
  if (fault.grouped_prefill && fault.xqa_decode) return "grouped_prefill,xqa_decode";
  return fault.grouped_prefill ? "grouped_prefill" : "xqa_decode";
}

int list_faults() {
  for (const FaultInfo& fault : fault_table())
    fmt::print("{:<22} {:<27} {:<6} {}\n", fault.name, steps_of(fault), *fault.rules == '\0' ? "none" : fault.rules,
               fault.what);
  return kExitClean;
}

FaultSet parse_faults(const std::vector<std::string>& names) {
  FaultSet faults;
  for (const std::string& name : names) {
    const FaultInfo* fault = find_fault(name);
    if (fault == nullptr)
      throw Error(ErrorKind::usage, fmt::format("--fault {}", name), "no such fault; see refrain run --list-faults",
                  "");
    faults.add(fault->fault);
  }
  return faults;
}

std::unique_ptr<Driver> make_driver(const std::string& device) {
  if (device == "cuda")
    throw Error(ErrorKind::usage, "--device cuda", "this build has no CUDA driver; use --device host", "");
  return std::make_unique<HostDriver>();
}

int run(RunFlags& flags) {
  if (flags.list_faults) return list_faults();
  flags.options.step.faults = parse_faults(flags.faults);
  const std::unique_ptr<Driver> driver = make_driver(flags.device);
  const RunResult result = run_step(*driver, flags.options);
  if (!flags.save_graph.empty() && result.graph) save_text(flags.save_graph, write_graph_json(*result.graph));
  fmt::print("{}", flags.format == Format::json ? run_json(result) : run_text(result));
  if (!flags.save_graph.empty() && !result.graph)
    fmt::print(stderr, "refrain: {}: not written, because the capture failed: {}\n", flags.save_graph,
               result.capture_error);
  return result.exit_code();
}

}  // namespace

std::function<int()> declare_run(CLI::App& app) {
  auto flags = std::make_shared<RunFlags>();
  StepOptions& step = flags->options.step;
  const auto choice = [](const auto& names) { return CLI::CheckedTransformer(names).description(""); };
  app.add_option("--step", step.step, "grouped_prefill or xqa_decode")->transform(choice(kSteps));
  app.add_option("--device", flags->device, "auto, host or cuda")
      ->check(CLI::IsMember({"auto", "host", "cuda"}).description(""));
  app.add_option("--rows", step.rows, "query rows, request-major (19)");
  app.add_option("--bucket", step.bucket, "rows that the graph is captured for (as --rows)");
  app.add_option("--requests", step.requests, "requests that the rows belong to (1)");
  app.add_option("--context", step.context, "tokens of each request, this step's included (2048)");
  app.add_option("--page-size", step.page_size, "tokens a KV page (32)");
  app.add_option("--kv", step.kv, "fp16, bf16 or e4m3")->transform(choice(kKv));
  app.add_option("--seed", step.seed, "of data, selection and page placement (1)");
  app.add_option("--replays", flags->options.replays, "how often the graph is launched (3)");
  app.add_option("--poison", flags->options.poison, "none, null-block, random-page0 or all")
      ->transform(choice(kPoisons));
  app.add_option("--fault", flags->faults, "named bugs to put back, comma-separated")->delimiter(',');
  app.add_flag("--list-faults", flags->list_faults,
               "the named bugs, the steps that they fit, the rules that catch them");
  app.add_option("--save-graph", flags->save_graph, "write the captured graph as refrain.graph/1");
  add_format(app, flags->format);
  CLI::Option* const step_option = app.get_option("--step");
  return [flags, step_option] {
    if (step_option->count() == 0 && !flags->list_faults)
      throw Error(ErrorKind::usage, "--step", "required: grouped_prefill or xqa_decode", "");
    return run(*flags);
  };
}

}  // namespace refrain
