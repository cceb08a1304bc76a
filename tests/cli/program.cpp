#include "tests/cli/program.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
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
  // The reader meets the end when the last of the other side is closed: this one, which no command outlives.
  const int other_side = ::open(name.c_str(), O_RDWR | O_NOCTTY);
  if (other_side < 0) throw std::runtime_error("no pseudo-terminal can be opened");
  std::string text;
  std::thread reader([&] {
    std::array<char, 4096> piece{};
    for (ssize_t size = 0; (size = ::read(terminal, piece.data(), piece.size())) > 0;)
      text.append(piece.data(), static_cast<std::size_t>(size));
  });
  Outcome outcome = run_with(arguments, name);
  ::close(other_side);
  reader.join();
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
