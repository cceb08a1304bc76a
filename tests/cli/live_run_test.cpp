// A command run as the auditor's host, with a shell in its place: what passes
// through, what the library is told, and what is made of what it leaves behind.
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
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

TEST_CASE("child process: a signal that comes as soon as the child runs finds this program ready") {
  // Passed back, it may end the child before the child ends by itself.
  for (int i = 0; i < 100; ++i) {
    const int code = run_child({"/bin/kill", "-USR1", std::to_string(::getpid())}, {});
    CHECK((code == 0 || code == 128 + SIGUSR1));
  }
}

TEST_CASE("child process: Ctrl-C of a terminal reaches the child once") {
  const int terminal = ::posix_openpt(O_RDWR | O_NOCTTY);
  REQUIRE(terminal >= 0);
  REQUIRE(::grantpt(terminal) == 0);
  REQUIRE(::unlockpt(terminal) == 0);
  const std::string name = ::ptsname(terminal);
  const pid_t pid = ::fork();
  REQUIRE(pid >= 0);
  if (pid == 0) {
    ::setsid();
    const int own = ::open(name.c_str(), O_RDWR);  // the first that a session opens is its terminal
    for (const int standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::dup2(own, standard);
    const char* script =
        "n=0; trap 'n=$((n+1))' INT; echo ready; for i in 1 2 3 4 5 6 7 8; do sleep 0.1; done; exit $n";
    ::_exit(run_child({"sh", "-c", script}, {}));
  }
  std::string said;
  char piece[64];
  while (said.find("ready") == std::string::npos) {
    const ssize_t count = ::read(terminal, piece, sizeof piece);
    REQUIRE(count > 0);
    said.append(piece, static_cast<std::size_t>(count));
  }
  ::usleep(50'000);
  REQUIRE(::write(terminal, "\x03", 1) == 1);
  while (::read(terminal, piece, sizeof piece) > 0) {
  }
  int status = 0;
  REQUIRE(::waitpid(pid, &status, 0) == pid);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 1);
  ::close(terminal);
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
