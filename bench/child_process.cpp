#include "bench/child_process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <thread>

#include "bench/result.hpp"
#include "graphs/error.hpp"

namespace refrain::bench {
namespace {

namespace fs = std::filesystem;

/// The most memory that a process had resident so far; 0 once it is gone, or is not yet the program.
std::uint64_t peak_bytes_of(pid_t process) {
  std::error_code ignored;
  const fs::path folder = fs::path("/proc") / std::to_string(process);
  if (fs::read_symlink(folder / "exe", ignored) == fs::read_symlink("/proc/self/exe", ignored)) return 0;
  const std::string line = line_of((folder / "status").c_str(), "VmHWM", ":");
  return std::strtoull(line.c_str(), nullptr, 10) * 1024;
}

double ms_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_usec) / 1e3;
}

[[noreturn]] void become(std::vector<std::string>& words) {
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const int nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  if (nowhere >= 0) ::dup2(nowhere, STDOUT_FILENO);
  ::execv(arguments[0], arguments.data());
  ::_exit(127);
}

}  // namespace

Command run_command(std::vector<std::string> words, std::initializer_list<int> codes) {
  const auto start = std::chrono::steady_clock::now();
  const pid_t child = ::fork();
  if (child == 0) become(words);
  // Not the peak of rusage: it counts what this process held at the fork. VmHWM starts anew with the program.
  Command command;
  int status = 0;
  pid_t ended = 0;
  rusage usage{};
  while (child > 0 && (ended = ::wait4(child, &status, WNOHANG, &usage)) == 0) {
    command.peak_bytes = std::max(command.peak_bytes, peak_bytes_of(child));
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  const bool exited = child > 0 && ended == child && WIFEXITED(status);
  if (!exited || std::find(codes.begin(), codes.end(), WEXITSTATUS(status)) == codes.end())
    throw Error(ErrorKind::input, words.size() > 1 ? words[1] : "run",
                exited ? fmt::format("it ended with exit code {}", WEXITSTATUS(status)) : "it did not end by itself",
                words[0]);
  const std::chrono::duration<double, std::milli> taken = std::chrono::steady_clock::now() - start;
  command.ms = taken.count();
  command.cpu_ms = ms_of(usage.ru_utime) + ms_of(usage.ru_stime);
  return command;
}

std::string refrain_beside(const char* who) {
  const fs::path here = fs::read_symlink("/proc/self/exe").parent_path();
  for (const fs::path& place : {here / "refrain", here.parent_path() / "cli" / "refrain"})
    if (fs::exists(place)) return place.string();
  throw Error(ErrorKind::usage, "--program", "expected it: no refrain was built beside this benchmark", who);
}

TemporaryFolder::TemporaryFolder(const std::string& name)
    : path_(fs::temp_directory_path() / fmt::format("refrain-{}-{}", name, ::getpid())) {
  fs::create_directories(path_);
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

std::string TemporaryFolder::write(const std::string& name, const std::string& text) const {
  const fs::path file = path_ / name;
  if (!(std::ofstream(file, std::ios::binary) << text << std::flush))
    throw Error(ErrorKind::input, "write", "the file can't be written", file.string());
  return file.string();
}

}  // namespace refrain::bench
