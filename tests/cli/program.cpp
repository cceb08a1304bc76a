#include "tests/cli/program.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

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

}  // namespace

std::string read_text(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return std::move(text).str();
}

Outcome refrain_program(const std::string& arguments) {
  const std::string out = (folder() / "out").string(), err = (folder() / "err").string();
  const int status = std::system((std::string(REFRAIN_PROGRAM) + " " + arguments + " >" + out + " 2>" + err).c_str());
  Outcome outcome{WIFEXITED(status) ? WEXITSTATUS(status) : -1, read_text(out), read_text(err)};
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
