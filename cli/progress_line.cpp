#include "cli/progress_line.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

namespace refrain {

ProgressLine::ProgressLine() : terminal_(::isatty(STDERR_FILENO) == 1) {}

ProgressLine::~ProgressLine() {
  if (drawn_) std::fputs("\r\x1b[K", stderr);
}

Progress ProgressLine::progress() {
  if (!terminal_) return {};
  return [this](std::size_t done, std::size_t total, const std::string& name) {
    drawn_ = true;
    fmt::print(stderr, "\r\x1b[K{} of {}{}{}", done, total, name.empty() ? "" : ": ", name);
    std::fflush(stderr);
  };
}

}  // namespace refrain
