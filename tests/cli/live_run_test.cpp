// A command run as the auditor's host, with a shell in its place: what passes
// through, what the library is told, and what is made of what it leaves behind.
#include <csignal>
#include <filesystem>
#include <fstream>

#include "cli/child_process.hpp"
#include "cli/live_run.hpp"
#include "graphs/error.hpp"
#include "tests/catch.hpp"
#include "traces/recording_writer.hpp"

using namespace refrain;

namespace {

namespace fs = std::filesystem;

LiveOutcome run_shell(const std::string& script, const LiveFlags& flags, const fs::path& folder) {
  return run_live({"sh", "-c", script}, flags, folder, "/lib/of/the/auditor.so");
}

}  // namespace

TEST_CASE("child process: its exit code comes back and a signal is 128 and its number") {
  CHECK(run_child({"sh", "-c", "exit 7"}, {}) == 7);
  CHECK(run_child({"sh", "-c", "kill -9 $$"}, {}) == 137);
  CHECK(run_child({"sh", "-c", "exit $ADDED"}, {{"ADDED", "5"}}) == 5);
  CHECK_THROWS_AS(run_child({"/nonexistent/program"}, {}), Error);
}

TEST_CASE("child process: a signal that this program gets is passed on and this program lives") {
  // The child tells its parent's signal back by its exit code; without the passing on it would end by itself with 3.
  const std::string script = "trap 'exit 42' USR1; kill -USR1 $PPID; sleep 5 & wait; exit 3";
  CHECK(run_child({"sh", "-c", script}, {}) == 42);
}

TEST_CASE("live run: the library is told its settings and is named to CUDA and to NVTX") {
  const TemporaryFolder folder;
  LiveFlags flags;
  flags.settings.launches = 12;
  flags.checks = "first:3";
  const std::string said = (folder.path() / "said").string();
  const LiveOutcome outcome = run_shell(
      "echo $CUDA_INJECTION64_PATH $NVTX_INJECTION64_PATH $REFRAIN_LIVE_LAUNCHES $REFRAIN_LIVE_CHECKS "
      "${REFRAIN_LIVE_SECONDS-none} > " +
          said,
      flags, folder.path());
  CHECK(outcome.exit_code == 0);
  std::ifstream file(said);
  std::string line;
  std::getline(file, line);
  CHECK(line == "/lib/of/the/auditor.so /lib/of/the/auditor.so 12 first:3 none");
  CHECK_FALSE(outcome.could_listen());
}

TEST_CASE("live run: recordings of all processes come back and what kept one from listening is said once") {
  const TemporaryFolder folder;
  const std::string made = (folder.path() / "7-1.jsonl.gz").string();
  RecordingWriter(made, {"a process", {}}).finish();
  const LiveOutcome outcome = run_shell(
      "cp $REFRAIN_LIVE_FOLDER/7-1.jsonl.gz $REFRAIN_LIVE_FOLDER/8-1.jsonl.gz; "
      "printf 'cupti-held\\tncu holds CUPTI\\n' > $REFRAIN_LIVE_FOLDER/8.status; "
      "cp $REFRAIN_LIVE_FOLDER/8.status $REFRAIN_LIVE_FOLDER/9.status; exit 4",
      LiveFlags{}, folder.path());
  CHECK(outcome.exit_code == 4);
  CHECK(outcome.recordings.size() == 2);
  CHECK(outcome.problems == std::vector<std::string>{"ncu holds CUPTI"});
  CHECK_FALSE(outcome.could_listen());
}
