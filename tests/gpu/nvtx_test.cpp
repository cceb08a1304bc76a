// The ranges that a profiler sees. NVTX looks for its injection once a process, so
// the step runs in a child: this very program, asked for one other test.
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/catch.hpp"

namespace {

namespace fs = std::filesystem;

struct Shown {
  int depth = 0;
  std::string name;
  unsigned long long payload = 0;
};

std::vector<Shown> ranges_of_child(const std::string& test) {
  const fs::path self = fs::read_symlink("/proc/self/exe");
  const fs::path log = fs::temp_directory_path() / ("refrain-nvtx-" + std::to_string(::getpid()));
  const std::string command = "NVTX_INJECTION64_PATH='" + (self.parent_path() / "libnvtx_log.so").string() +
                              "' REFRAIN_NVTX_LOG='" + log.string() + "' '" + self.string() + "' '" + test +
                              "' >/dev/null";
  REQUIRE(std::system(command.c_str()) == 0);
  std::ifstream file(log);
  std::vector<Shown> shown;
  for (Shown range; file >> range.depth >> range.name >> range.payload;) shown.push_back(range);
  fs::remove(log);
  return shown;
}

/// The range itself, with its parents before it, outermost first: `prefill/capture/grouped_prefill/kv_append`.
std::vector<std::string> paths_of(const std::vector<Shown>& shown) {
  std::vector<std::string> stack, paths;
  for (const Shown& range : shown) {
    stack.resize(static_cast<std::size_t>(range.depth));
    stack.push_back(range.name);
    std::string path = stack.front();
    for (std::size_t i = 1; i < stack.size(); ++i) path += "/" + stack[i];
    paths.push_back(path);
  }
  return paths;
}

bool holds(const std::vector<std::string>& paths, const std::string& path) {
  return std::find(paths.begin(), paths.end(), path) != paths.end();
}

}  // namespace

TEST_CASE("nvtx: a profiler sees phase and capture and op at capture and step and replay at replay") {
  const std::vector<Shown> shown = ranges_of_child("run: 24*");
  const std::vector<std::string> paths = paths_of(shown);
  CHECK(holds(paths, "prefill/capture/grouped_prefill/kv_append"));
  CHECK(holds(paths, "prefill/capture/grouped_prefill/grouped_attention"));
  CHECK(holds(paths, "step/bucket"));
  CHECK(holds(paths, "step/replay"));
  for (const Shown& range : shown) {
    if (range.name == "step") CHECK(range.payload == 24);    // the rows that the test asks for
    if (range.name == "bucket") CHECK(range.payload == 24);  // no fault of this run needs a pad row
    if (range.name == "replay") CHECK(range.payload >= 4);   // kv_append, plan, attention, decode at least
  }
}
