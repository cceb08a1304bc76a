#include "cli/hash_progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>

namespace refrain {
namespace {

constexpr std::uint64_t kWorthALine = std::uint64_t{64} << 20;

}  // namespace

HashLine::HashLine() : terminal_(::isatty(STDERR_FILENO) == 1) {}

HashLine::~HashLine() {
  if (drawn_) std::fputs("\r\x1b[K", stderr);
}

HashProgress HashLine::progress() {
  if (!terminal_) return {};
  return [this](const std::string& path, std::uint64_t done, std::uint64_t total) {
    if (total < kWorthALine) return;
    drawn_ = true;
    fmt::print(stderr, "\r\x1b[Khashing {} {:3.0f} % of {:.1f} GB", std::filesystem::path(path).filename().string(),
               100.0 * static_cast<double>(done) / static_cast<double>(total), static_cast<double>(total) / 1e9);
  };
}

}  // namespace refrain
