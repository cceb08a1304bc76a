// The program: finds the command, runs it, and turns what goes wrong into one
// line on standard error and exit code 2.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <array>
#include <cstdio>
#include <exception>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "cli/command.hpp"
#include "graphs/error.hpp"

namespace refrain {
namespace {

constexpr std::array kCommands = {
    Command{"run", "capture a step, audit the graph, replay it, compare the result", declare_run},
    Command{"verify", "replay a step with poison where none may matter, and compare", declare_verify},
    Command{"audit", "check recordings and graphs, or a command while it runs, for capture safety", nullptr,
            declare_audit},
    Command{"record", "run a command and record what it does with CUDA graphs", nullptr, declare_record},
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

/// What stands behind `--` where a command takes it; else nothing, and CLI11 reads the `--` as it does.
std::vector<std::string> take_behind(int& argc, char** argv) {
  if (argc < 2) return {};
  const auto takes = [&](const Command& command) { return command.name == std::string_view(argv[1]); };
  const auto command = std::find_if(kCommands.begin(), kCommands.end(), takes);
  if (command == kCommands.end() || command->declare_with == nullptr) return {};
  char** const end = argv + argc;
  char** const dashes = std::find(argv, end, std::string_view("--"));
  if (dashes == end) return {};
  argc = static_cast<int>(dashes - argv);
  return {dashes + 1, end};
}

int run_program(int argc, char** argv) {
  CLI::App app("Builds, audits and replays CUDA graphs for LLM prefill and decode.", "refrain");
  app.require_subcommand(1);
  app.set_version_flag("--version", std::string("refrain ") + REFRAIN_VERSION);
  const std::vector<std::string> behind = take_behind(argc, argv);
  std::map<const CLI::App*, std::function<int()>> actions;
  for (const Command& command : kCommands) {
    CLI::App* sub = app.add_subcommand(command.name, command.description);
    actions[sub] =
        command.declare != nullptr ? command.declare(Options(*sub)) : command.declare_with(Options(*sub), behind);
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

void add_format(Options app, Format& format) {
  static const std::map<std::string, Format> kNames{{"text", Format::text}, {"json", Format::json}};
  app.add_choice("--format", format, kNames, "text or json");
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
