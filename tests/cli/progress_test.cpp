// How far a long reading is: on a terminal, inside one file too; nothing anywhere else.
#include <fmt/format.h>

#include "tests/catch.hpp"
#include "tests/cli/program.hpp"

using namespace refrain::test;

namespace {

std::string trace_of(int calls) {
  std::string text = R"({"schemaVersion": 1, "traceEvents": [)";
  for (int i = 0; i < calls; ++i)
    text += fmt::format(
        R"({}{{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":{},"dur":1,"args":{{"correlation":{}}}}})",
        i == 0 ? "" : ",", 3 * i, i + 1);
  return text + "]}";
}

/// Some megabytes: a hundred pieces and more of what is read at once.
std::string large_trace() {
  return temporary_file("progress-large.json", trace_of(40'000));
}

std::size_t count(const std::string& text, const std::string& words) {
  std::size_t found = 0;
  for (std::size_t at = text.find(words); at != std::string::npos; at = text.find(words, at + 1)) ++found;
  return found;
}

}  // namespace

TEST_CASE("progress: review and audit of one large file show its percents on a terminal and wipe the line") {
  const std::string trace = large_trace();
  for (const std::string command : {"review ", "audit "}) {
    INFO(command);
    const Outcome outcome = refrain_on_terminal(command + trace);
    CHECK(count(outcome.err, ", 10 %") == 1);
    CHECK(count(outcome.err, " %") > 50);
    CHECK(count(outcome.err, ", 0 %") == 0);
    CHECK(count(outcome.err, "\n") == 0);
    CHECK(outcome.err.ends_with("\r\x1b[K"));
  }
}

TEST_CASE("progress: a small file shows no percents and what is no terminal gets nothing at all") {
  const Outcome small = refrain_on_terminal("review " + temporary_file("progress-small.json", trace_of(10)));
  CHECK(count(small.err, "reading") == 1);
  CHECK(count(small.err, "%") == 0);
  CHECK(refrain_program("review " + large_trace()).err.empty());
  CHECK(refrain_program("audit " + large_trace()).err.empty());
}
