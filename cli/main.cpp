// The program: finds the command, runs it, and turns what goes wrong into one
// line on standard error and exit code 2.
#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <exception>
#include <map>
#include <string>

#include "cli/command.hpp"
#include "graphs/error.hpp"

namespace refrain {
namespace {

constexpr std::array kCommands = {
    Command{"run", "capture a step, audit the graph, replay it, compare the result", declare_run},
    Command{"verify", "replay a step with poison where none may matter, and compare", declare_verify},
    Command{"audit", "check recordings and graphs for capture safety", declare_audit},
    Command{"review", "cut a trace into steps: what each cost, and what the audit finds in them", declare_review},
    Command{"diff", "what differs between two graphs", declare_diff},
    Command{"mutate", "break a clean graph in many ways, and count what the audit sees", declare_mutate},
    Command{"rules", "the catalogue of rules, or one of them explained", declare_rules},
    Command{"scales", "K/V scales of a checkpoint: write an overlay, verify one, show them", declare_scales},
    Command{"serve", "serve a script of requests and say what each step and token took", declare_serve},
    Command{"doctor", "what this build and machine can do", declare_doctor},
};

std::string first_line(std::string text) {
  if (const auto end = text.find('\n'); end != std::string::npos) text.resize(end);
  return text;
}

int fail(const std::string& message) {
  fmt::print(stderr, "refrain: {}\n", first_line(message));
  return kExitCouldNotRun;
}

int run_program(int argc, char** argv) {
  CLI::App app("Builds, audits and replays CUDA graphs for LLM prefill and decode.", "refrain");
  app.require_subcommand(1);
  app.set_version_flag("--version", std::string("refrain ") + REFRAIN_VERSION);
  std::map<const CLI::App*, std::function<int()>> actions;
  for (const Command& command : kCommands) {
    CLI::App* sub = app.add_subcommand(command.name, command.description);
    actions[sub] = command.declare(*sub);
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help, --version
    return fail(fmt::format("{}; try refrain --help", first_line(error.what())));
  }
  return actions.at(app.get_subcommands().front())();
}

}  // namespace

void add_format(CLI::App& app, Format& format) {
  static const std::map<std::string, Format> kNames{{"text", Format::text}, {"json", Format::json}};
  app.add_option("--format", format, "text or json")->transform(CLI::CheckedTransformer(kNames).description(""));
}

}  // namespace refrain

int main(int argc, char** argv) {
  try {
    return refrain::run_program(argc, argv);
  } catch (const refrain::Error& error) {
    return refrain::fail(error.what());
  } catch (const std::bad_alloc&) {
    return refrain::fail("out of memory; use a smaller context, fewer rows or a smaller input");
  } catch (const std::exception& error) {
    return refrain::fail(error.what());
  }
}
