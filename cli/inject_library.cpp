#include "cli/inject_library.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <filesystem>
#include <system_error>

namespace refrain {
namespace {

namespace fs = std::filesystem;

constexpr const char* kName = "librefrain_inject.so";

// From the program's folder: packed and installed, the latter with the system's own folders, and the build tree.
constexpr const char* kFolders[] = {".", "../lib", "../lib64", "../lib/x86_64-linux-gnu", "../audit/cupti"};

bool has_driver() {
  void* driver = ::dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
  if (driver == nullptr) return false;
  using Init = int (*)(unsigned int);
  using Count = int (*)(int*);
  const auto init = reinterpret_cast<Init>(::dlsym(driver, "cuInit"));
  const auto count = reinterpret_cast<Count>(::dlsym(driver, "cuDeviceGetCount"));
  int devices = 0;
  return init != nullptr && count != nullptr && init(0) == 0 && count(&devices) == 0 && devices > 0;
}

}  // namespace

InjectLibrary find_inject_library() {
  std::error_code problem;
  const fs::path self = fs::read_symlink("/proc/self/exe", problem).parent_path();
  InjectLibrary found;
  for (const char* folder : kFolders) {
    const fs::path path = self / folder / kName;
    if (found.path.empty() && fs::exists(path, problem)) found.path = fs::canonical(path, problem).string();
  }
  if (found.path.empty())
    found.missing = fmt::format(
        "{} is not beside this program: this build has no CUDA parts; build with CUDA 13 and "
        "its CUPTI (./dev build gpu), or audit a recording or a trace of the program",
        kName);
  else if (!has_driver())
    found.missing =
        "no CUDA device on this machine: libcuda.so.1 is missing or finds none; run it where a GPU is, or "
        "audit a recording made there";
  if (!found.missing.empty()) found.path.clear();
  return found;
}

}  // namespace refrain
