#include "cli/child_process.hpp"

#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <optional>

#include "graphs/error.hpp"

namespace refrain {
namespace {

// What a user, a shell or a service manager sends. A handler has no other way to know whom to pass it to.
constexpr int kPassedOn[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGWINCH, SIGALRM};
volatile std::sig_atomic_t child = 0;

/// A terminal's own signals (Ctrl-C) come from the kernel and reach the whole foreground group, the child too.
void pass_on(int number, siginfo_t* info, void*) {
  if (child > 0 && info->si_code <= 0) ::kill(static_cast<pid_t>(child), number);
}

/// The child starts with the handling that this program was started with; here the signals are passed on meanwhile.
class PassOnSignals {
 public:
  PassOnSignals() {
    for (std::size_t i = 0; i < std::size(kPassedOn); ++i) {
      struct sigaction action {};
      action.sa_sigaction = pass_on;
      action.sa_flags = SA_RESTART | SA_SIGINFO;
      ::sigaction(kPassedOn[i], &action, &before_[i]);
    }
  }
  ~PassOnSignals() {
    for (std::size_t i = 0; i < std::size(kPassedOn); ++i) ::sigaction(kPassedOn[i], &before_[i], nullptr);
    child = 0;
  }
  PassOnSignals(const PassOnSignals&) = delete;
  PassOnSignals& operator=(const PassOnSignals&) = delete;

 private:
  struct sigaction before_[std::size(kPassedOn)] = {};
};

std::vector<std::string> environment_with(const Environment& added) {
  std::vector<std::string> out;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string line = *entry;
    bool replaced = false;
    for (const auto& [name, value] : added) replaced = replaced || line.substr(0, line.find('=')) == name;
    if (!replaced) out.push_back(line);
  }
  for (const auto& [name, value] : added) out.push_back(fmt::format("{}={}", name, value));
  return out;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (std::string& text : texts) out.push_back(text.data());
  out.push_back(nullptr);
  return out;
}

/// None is delivered before there is somebody to pass it to: a child may send one as soon as it runs.
class HeldSignals {
 public:
  HeldSignals() {
    sigset_t passed;
    ::sigemptyset(&passed);
    for (const int number : kPassedOn) ::sigaddset(&passed, number);
    ::sigprocmask(SIG_BLOCK, &passed, &before_);
  }
  ~HeldSignals() { ::sigprocmask(SIG_SETMASK, &before_, nullptr); }
  HeldSignals(const HeldSignals&) = delete;
  HeldSignals& operator=(const HeldSignals&) = delete;
  [[nodiscard]] const sigset_t& before() const { return before_; }

 private:
  sigset_t before_ = {};
};

pid_t start(const std::vector<std::string>& command, const Environment& added, const sigset_t& mask) {
  std::vector<std::string> words = command, variables = environment_with(added);
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  ::posix_spawnattr_setsigmask(&attributes, &mask);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  pid_t pid = 0;
  const int code = ::posix_spawnp(&pid, words.front().c_str(), nullptr, &attributes, pointers(words).data(),
                                  pointers(variables).data());
  ::posix_spawnattr_destroy(&attributes);
  if (code != 0) throw Error(ErrorKind::usage, command.front(), std::strerror(code), "");
  return pid;
}

}  // namespace

int run_child(const std::vector<std::string>& command, const Environment& added) {
  pid_t pid = 0;
  std::optional<PassOnSignals> passing;
  {
    const HeldSignals held;
    pid = start(command, added, held.before());
    child = pid;
    passing.emplace();
  }
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0)
    if (errno != EINTR) throw Error(ErrorKind::usage, "waiting for " + command.front(), std::strerror(errno), "");
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace refrain
