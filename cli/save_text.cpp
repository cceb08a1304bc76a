#include "cli/save_text.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "graphs/error.hpp"

namespace refrain {
namespace {

/// Ctrl-C in the middle of writing would leave the temporary file behind.
class SignalsHeld {
 public:
  SignalsHeld() {
    sigset_t held;
    ::sigemptyset(&held);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) ::sigaddset(&held, signal);
    ::pthread_sigmask(SIG_BLOCK, &held, &before_);
  }
  ~SignalsHeld() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsHeld(const SignalsHeld&) = delete;
  SignalsHeld& operator=(const SignalsHeld&) = delete;

 private:
  sigset_t before_{};
};

[[noreturn]] void refuse(const std::string& file, const std::string& tried, const std::string& came_back) {
  throw Error(ErrorKind::input, tried, came_back, file);
}

}  // namespace

void save_text(const std::string& file, const std::string& text) {
  const SignalsHeld held;
  const std::string temporary = fmt::format("{}.{}.part", file, ::getpid());
  std::ofstream out(temporary, std::ios::binary | std::ios::trunc);
  if (!out) refuse(file, "writing", fmt::format("{}; check the folder", std::strerror(errno)));
  out << text;
  out.close();
  std::error_code problem;
  if (out) std::filesystem::rename(temporary, file, problem);
  if (!out || problem) {
    std::error_code ignored;
    std::filesystem::remove(temporary, ignored);
    refuse(file, "writing", problem ? problem.message() : "the disk did not take it all; nothing was written");
  }
}

void print_or_save(const std::string& file, const std::string& text) {
  if (file.empty())
    fmt::print("{}", text);
  else
    save_text(file, text);
}

// https://no-color.org: set and not empty means no.
bool wants_colour() {
  const char* no_colour = std::getenv("NO_COLOR");
  return ::isatty(STDOUT_FILENO) == 1 && (no_colour == nullptr || *no_colour == '\0');
}

}  // namespace refrain
