// refrain record: runs a command with the auditor inside it and keeps what it
// recorded. The exit code is the command's; where that is 0 and nothing could be
// recorded, it is 3.
#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include "cli/command.hpp"
#include "cli/inject_library.hpp"
#include "cli/live_run.hpp"
#include "graphs/error.hpp"

namespace refrain {
namespace {

namespace fs = std::filesystem;

struct RecordFlags {
  LiveFlags live;
  std::string output = "refrain-recordings";
  std::vector<std::string> command;
};

bool is_file_name(const fs::path& output) {
  return output.extension() == ".gz" || output.extension() == ".jsonl";
}

/// The first process' recording takes the name, the others one with their number.
void move_to(const fs::path& output, std::vector<fs::path>& recordings) {
  for (fs::path& recording : recordings) {
    fs::path wanted = output;
    if (&recording != &recordings.front()) {
      const std::string number = recording.filename().string().substr(0, recording.filename().string().find('.'));
      wanted.replace_filename(fmt::format("{}-{}", number, output.filename().string()));
    }
    std::error_code problem;
    fs::copy_file(recording, wanted, fs::copy_options::overwrite_existing, problem);
    if (problem) throw Error(ErrorKind::input, "writing", problem.message(), wanted.string());
    recording = wanted;
  }
}

int record(const RecordFlags& flags, const InjectLibrary& library) {
  const fs::path output = flags.output;
  LiveOutcome outcome;
  if (is_file_name(output)) {
    const TemporaryFolder folder;
    outcome = run_live(flags.command, flags.live, folder.path(), library.path);
    move_to(output, outcome.recordings);
  } else {
    outcome = run_live(flags.command, flags.live, output, library.path);
  }
  print_problems(outcome);
  for (const fs::path& recording : outcome.recordings) fmt::print(stderr, "refrain: recorded {}\n", recording.string());
  if (outcome.exit_code != 0) return outcome.exit_code;
  return outcome.could_listen() ? kExitClean : kExitCouldNotEstablish;
}

int run(const RecordFlags& flags) {
  if (flags.command.empty())
    throw Error(ErrorKind::usage, "refrain record", "expected a command: refrain record -- python3 serve.py", "");
  const InjectLibrary library = find_inject_library();
  if (!library.missing.empty()) {
    fmt::print(stderr, "refrain: {}\n", library.missing);
    return kExitCouldNotEstablish;
  }
  return record(flags, library);
}

}  // namespace

std::function<int()> declare_record(Options app, const std::vector<std::string>& command) {
  auto flags = std::make_shared<RecordFlags>();
  flags->command = command;
  add_live_flags(app, flags->live);
  app.add_option("--output", flags->output,
                 "a folder for the recordings, one a process; or a name ending in .jsonl.gz for the first of them");
  app.footer("after --: the command to run, e.g. refrain record -- python3 serve.py");
  return [flags] { return run(*flags); };
}

}  // namespace refrain
