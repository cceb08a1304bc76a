#include "tests/cli/program.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <thread>
#include <utility>

namespace refrain::test {
namespace {

std::filesystem::path folder() {
  static const std::filesystem::path path = [] {
    auto made = std::filesystem::temp_directory_path() / ("refrain-cli-test-" + std::to_string(::getpid()));
    std::filesystem::create_directories(made);
    return made;
  }();
  return path;
}

Outcome run_with(const std::string& arguments, const std::string& err) {
  const std::string out = (folder() / "out").string();
  const int status = std::system((std::string(REFRAIN_PROGRAM) + " " + arguments + " >" + out + " 2>" + err).c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, read_text(out), ""};
}

}  // namespace

std::string read_text(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return std::move(text).str();
}

Outcome refrain_program(const std::string& arguments) {
  const std::string err = (folder() / "err").string();
  Outcome outcome = run_with(arguments, err);
  outcome.err = read_text(err);
  return outcome;
}

Outcome refrain_on_terminal(const std::string& arguments) {
  const int terminal = ::posix_openpt(O_RDWR | O_NOCTTY);
  if (terminal < 0 || ::grantpt(terminal) != 0 || ::unlockpt(terminal) != 0)
    throw std::runtime_error("no pseudo-terminal can be opened");
  const std::string name = ::ptsname(terminal);
  // Kept open, so that the reader below meets no end before it is asked to stop.
  const int other_end = ::open(name.c_str(), O_RDWR | O_NOCTTY);
  std::string text;
  std::atomic<bool> ended = false;
  std::thread reader([&] {
    std::array<char, 4096> piece{};
    for (pollfd ready{terminal, POLLIN, 0}; ::poll(&ready, 1, 50) > 0 || !ended;)
      if ((ready.revents & POLLIN) != 0)
        text.append(piece.data(),
                    static_cast<std::size_t>(std::max<ssize_t>(0, ::read(terminal, piece.data(), piece.size()))));
  });
  Outcome outcome = run_with(arguments, name);
  ended = true;
  reader.join();
  ::close(other_end);
  ::close(terminal);
  outcome.err = std::move(text);
  return outcome;
}

std::string temporary_file(const std::string& name, const std::string& text) {
  const std::string path = (folder() / name).string();
  std::ofstream(path, std::ios::binary) << text;
  return path;
}

std::string sample(const std::string& name) {
  return std::string(REFRAIN_SOURCE_DIR) + "/traces/samples/" + name;
}

}  // namespace refrain::test
