#include "audit/cupti/process_facts.hpp"

#include <link.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string_view>

namespace refrain {
namespace {

int match_library(dl_phdr_info* info, std::size_t, void* wanted) {
  std::string_view path = info->dlpi_name != nullptr ? info->dlpi_name : "";
  if (const std::size_t slash = path.rfind('/'); slash != std::string_view::npos) path.remove_prefix(slash + 1);
  return path.starts_with(static_cast<const char*>(wanted)) ? 1 : 0;
}

}  // namespace

std::string command_line() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  while (!text.empty() && text.back() == '\0') text.pop_back();
  for (char& c : text)
    if (c == '\0' || c == '\n') c = ' ';
  constexpr std::size_t kLongest = 400;
  if (text.size() > kLongest) text = text.substr(0, kLongest) + "...";
  return text;
}

std::uint64_t thread_number() noexcept {
  thread_local const auto number = static_cast<std::uint64_t>(::syscall(SYS_gettid));
  return number;
}

std::uint64_t now_ns() noexcept {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
}

bool has_library(const char* name) {
  return ::dl_iterate_phdr(match_library, const_cast<char*>(name)) != 0;
}

bool loads_kernels_lazily() {
  const char* mode = std::getenv("CUDA_MODULE_LOADING");
  return mode == nullptr || std::string_view(mode) != "EAGER";
}

}  // namespace refrain
