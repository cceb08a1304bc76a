// Who may include whom: reads the #include lines of the whole tree and fails on
// an arrow against the layers, on a library that a folder has no business with,
// and on a CUDA header outside the folders that hold CUDA.
#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "tests/catch.hpp"

namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string_view>;

struct Layer {
  std::string_view folder;
  Words folders;    // of the project, itself always
  Words libraries;  // first part of the include's path
};

const std::vector<Layer> kLayers = {
    {"graphs", {}, {"fmt", "nlohmann"}},
    {"traces", {"graphs"}, {"fmt", "nlohmann", "sqlite3.h", "zlib.h"}},
    {"kernels", {"graphs"}, {}},
    {"audit", {"traces", "graphs"}, {"fmt", "nlohmann"}},
    {"runtime", {"audit", "traces", "kernels", "graphs"}, {"fmt", "nlohmann", "openssl"}},
    {"cli", {"runtime", "audit", "traces", "kernels", "graphs"}, {"fmt", "nlohmann", "CLI", "zlib.h"}},
    {"bench", {"runtime", "audit", "traces", "kernels", "graphs"}, {"fmt", "nlohmann", "sqlite3.h"}},
    {"tests",
     {"cli", "runtime", "audit", "traces", "kernels", "graphs"},
     {"fmt", "nlohmann", "catch2", "sqlite3.h", "zlib.h"}},
};

// POSIX, and nothing else that has a header ending in .h.
const Words kSystem = {"unistd.h", "fcntl.h",   "sys",         "regex.h",  "cxxabi.h", "dlfcn.h",
                       "link.h",   "pthread.h", "semaphore.h", "unwind.h", "spawn.h"};

bool holds(const Words& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

std::string_view first_part(std::string_view path) {
  return path.substr(0, path.find('/'));
}

bool cuda_header(std::string_view include) {
  return include.starts_with("cuda") || include.starts_with("cupti") || include.starts_with("nvtx3") ||
         include.starts_with("cublas") || include.starts_with("cub/") || include.starts_with("mma.h");
}

bool cuda_place(std::string_view path) {
  for (const std::string_view place :
       {"graphs/cuda/", "traces/cupti/", "audit/cupti/", "runtime/cuda/", "tests/gpu/", "bench/gpu_"})
    if (path.starts_with(place)) return true;
  return path.starts_with("kernels/") && (path.ends_with(".cu") || path.ends_with(".cuh"));
}

/// The path between < > or quotes of an #include line, or nothing.
std::string included(const std::string& line) {
  const auto at = line.find("#include");
  if (at == std::string::npos || line.find_first_not_of(" \t") != at) return {};
  const auto open = line.find_first_of("<\"", at), close = line.find_first_of(">\"", open + 1);
  return open == std::string::npos || close == std::string::npos ? "" : line.substr(open + 1, close - open - 1);
}

std::string violation(const std::string& path, const std::string& include) {
  const auto layer =
      std::find_if(kLayers.begin(), kLayers.end(), [&](const Layer& l) { return l.folder == first_part(path); });
  if (layer == kLayers.end()) return path + ": in no folder that the layers know";
  if (cuda_header(include)) return cuda_place(path) ? "" : path + ": CUDA header " + include + " outside a CUDA folder";
  const std::string_view target = first_part(include);
  const bool project = std::any_of(kLayers.begin(), kLayers.end(), [&](const Layer& l) { return l.folder == target; });
  if (project)
    return target == layer->folder || holds(layer->folders, target) ? "" : path + ": may not include " + include;
  const bool standard = include.find_first_of("/.") == std::string::npos;
  if (standard || holds(kSystem, target) || holds(layer->libraries, target)) return "";
  return path + ": may not use the library of " + include;
}

std::vector<std::string> violations(const std::string& path, std::istream& text) {
  std::vector<std::string> found;
  for (std::string line; std::getline(text, line);)
    if (const std::string include = included(line); !include.empty())
      if (std::string broken = violation(path, include); !broken.empty()) found.push_back(std::move(broken));
  return found;
}

std::vector<std::string> violations_in(const std::string& path, const std::string& text) {
  std::istringstream stream(text);
  return violations(path, stream);
}

}  // namespace

TEST_CASE("layering: no file includes against the layers") {
  const fs::path root = REFRAIN_SOURCE_DIR;
  std::vector<std::string> found;
  std::size_t files = 0;
  for (const Layer& layer : kLayers)
    for (const auto& entry : fs::recursive_directory_iterator(root / layer.folder)) {
      const std::string kind = entry.path().extension().string();
      if (kind != ".cpp" && kind != ".hpp" && kind != ".cu" && kind != ".cuh") continue;
      ++files;
      std::ifstream text(entry.path());
      const auto broken = violations(fs::relative(entry.path(), root).generic_string(), text);
      found.insert(found.end(), broken.begin(), broken.end());
    }
  std::string all;
  for (const std::string& line : found) all += line + "\n";
  INFO(all);
  CHECK(found.empty());
  CHECK(files > 100);
}

TEST_CASE("layering: the test sees an arrow against the layers") {
  CHECK(violations_in("audit/x.cpp", "#include \"runtime/driver.hpp\"\n") ==
        std::vector<std::string>{"audit/x.cpp: may not include runtime/driver.hpp"});
  CHECK(violations_in("kernels/x.hpp", "  #include <fmt/format.h>\n").size() == 1);
  CHECK(violations_in("runtime/x.cpp", "#include <cuda_runtime.h>\n").size() == 1);
  CHECK(violations_in("runtime/cuda/x.cpp", "#include <cuda_runtime.h>\n").empty());
  CHECK(violations_in("kernels/x.cu", "#include <cuda_fp16.h>\n#include \"kernels/op.hpp\"\n#include <vector>\n")
            .empty());
  CHECK(violations_in("runtime/x.cpp", "#include \"cli/save_text.hpp\"\n").size() == 1);
}
