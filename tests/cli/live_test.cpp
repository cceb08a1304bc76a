// Commands that run another program: what is said where the auditor cannot work, and
// mistakes of the command line. What it finds is tested where there is a GPU.
#include <algorithm>

#include "tests/catch.hpp"
#include "tests/cli/program.hpp"

using namespace refrain::test;

namespace {

bool one_line(const std::string& text) {
  return std::count(text.begin(), text.end(), '\n') == 1 && text.back() == '\n';
}

void check_refused(const std::string& arguments, const std::string& part) {
  const Outcome outcome = refrain_program(arguments);
  INFO(arguments << "\n" << outcome.err);
  CHECK(outcome.exit_code == 2);
  CHECK(one_line(outcome.err));
  CHECK(outcome.err.find(part) != std::string::npos);
}

bool can_listen() {
  return refrain_program("doctor").out.find("ok       live auditor") != std::string::npos;
}

}  // namespace

TEST_CASE("live: where a part is missing the command does not run and the exit code is 3") {
  if (can_listen()) return;  // a GPU machine: tests/live/window_test.py tells the rest
  for (const char* command : {"audit", "record"}) {
    const std::string mark = temporary_file(std::string("ran-") + command, "");
    const Outcome outcome = refrain_program(std::string(command) + " -- sh -c 'echo yes > " + mark + "'");
    CHECK(outcome.exit_code == 3);
    CHECK(one_line(outcome.err));
    const bool library = outcome.err.find("librefrain_inject.so is not beside this program") != std::string::npos;
    const bool device = outcome.err.find("no CUDA device on this machine") != std::string::npos;
    CHECK((library || device));
    CHECK(read_text(mark).empty());
  }
}

TEST_CASE("live: mistakes of the command line are exit 2 and one line") {
  check_refused("record", "expected a command");
  check_refused("record --", "expected a command");
  check_refused("audit", "files");
  check_refused("audit graph.json -- true", "found both");
  check_refused("audit --pointer-checks sometimes -- true", "every, first:N or sample:N");
  check_refused("record --signal KILL -- true", "a signal such as USR2");
  check_refused("record --seconds -1 -- true", "--seconds");
  check_refused("audit --require RF999 -- true", "RF999");
}

TEST_CASE("live: what stands behind the dashes is the command's and not an option") {
  // Without the cut, --frobnicate would be refused as an unknown option, exit 2.
  const Outcome outcome = refrain_program("record -- true --frobnicate --format");
  CHECK(outcome.exit_code != 2);
}
