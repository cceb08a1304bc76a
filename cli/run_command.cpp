// refrain run: options in, one report out.
#include <fmt/format.h>

#include <cstdio>
#include <map>
#include <memory>
#include <string>

#include "cli/command.hpp"
#include "cli/device.hpp"
#include "cli/run_report.hpp"
#include "cli/save_text.hpp"
#include "cli/step_flags.hpp"
#include "graphs/readers.hpp"
#include "runtime/run.hpp"
#include "traces/recording_writer.hpp"

namespace refrain {
namespace {

struct RunFlags {
  StepFlags step;
  RunOptions options;
  bool list_faults = false;
  std::string save_graph, save_recording;
  Format format = Format::text;
};

const std::map<std::string, Poison> kPoisons{{"none", Poison::none},
                                             {"null-block", Poison::null_block},
                                             {"random-page0", Poison::random_page0},
                                             {"all", Poison::all}};

std::string steps_of(const FaultInfo& fault) {
  std::string names;
  for (const StepKind step : kStepKinds)
    if (fits(fault, step)) names += fmt::format("{}{}", names.empty() ? "" : ",", to_string(step));
  return names;
}

/// `RF304`, `RF901 (verify)`, `RF405 (verify --twice)`, `refused` or `none`
std::string catch_of(const FaultInfo& fault) {
  if (fault.refused) return "refused";
  if (*fault.rules != '\0') return fault.rules;
  if (*fault.verify != '\0') return fmt::format("{} (verify)", fault.verify);
  return *fault.twice != '\0' ? fmt::format("{} (verify --twice)", fault.twice) : "none";
}

int list_faults() {
  for (const FaultInfo& fault : fault_table())
    fmt::print("{:<22} {:<38} {:<22} {}\n", fault.name, steps_of(fault), catch_of(fault), fault.what);
  return kExitClean;
}

int run(RunFlags& flags) {
  if (flags.list_faults) return list_faults();
  flags.options.step = flags.step.parsed();
  const std::unique_ptr<Driver> driver = make_driver(flags.step.device);
  const RunResult result = run_step(*driver, flags.options);
  if (!flags.save_graph.empty() && result.graph) {
    const bool dot = flags.save_graph.ends_with(".dot");
    save_text(flags.save_graph, dot ? write_dot(*result.graph) : write_graph_json(*result.graph));
  }
  if (!flags.save_recording.empty()) write_recording(flags.save_recording, result.recording, result.device);
  fmt::print("{}", flags.format == Format::json ? run_json(result) : run_text(result));
  if (!flags.save_graph.empty() && !result.graph)
    fmt::print(stderr, "refrain: {}: not written, because the capture failed: {}\n", flags.save_graph, result.refused);
  return result.exit_code();
}

}  // namespace

std::function<int()> declare_run(Options app) {
  auto flags = std::make_shared<RunFlags>();
  add_step_flags(app, flags->step);
  app.add_option("--replays", flags->options.replays, "how often the graph is launched (3)");
  app.add_choice("--poison", flags->options.poison, kPoisons, "none, null-block, random-page0 or all");
  app.add_flag("--list-faults", flags->list_faults,
               "the named bugs, the steps that they fit, the rules that catch them");
  app.add_option("--save-graph", flags->save_graph,
                 "write the captured graph: refrain.graph/1, or a DOT dump for a name that ends in .dot");
  app.add_option("--save-recording", flags->save_recording, "write what was judged as refrain.recording/1");
  add_format(app, flags->format);
  return [flags] { return run(*flags); };
}

}  // namespace refrain
