// README's page of C++ is a file that a test builds and runs: here they are compared to the letter.
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tests/catch.hpp"

namespace {

std::string text_of(const std::string& path) {
  std::ifstream file(std::string(REFRAIN_SOURCE_DIR) + "/" + path);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// What stands between ```cpp and ``` lines.
std::vector<std::string> cpp_blocks(const std::string& markdown) {
  const std::string open = "\n```cpp\n", close = "```\n";
  std::vector<std::string> blocks;
  for (std::size_t at = markdown.find(open); at != std::string::npos; at = markdown.find(open, at)) {
    at += open.size();
    blocks.push_back(markdown.substr(at, markdown.find(close, at) - at));
  }
  return blocks;
}

}  // namespace

TEST_CASE("readme: the page of C++ is the program of the consumer test to the letter") {
  const std::string program = text_of("tests/consumer/own_step.cpp");
  CHECK(program.size() > 1000);
  CHECK(cpp_blocks(text_of("README.md")) == std::vector<std::string>{program});
}

TEST_CASE("readme: a block that differs in one letter from the program is seen") {
  CHECK(cpp_blocks("text\n```cpp\nint a;\n```\n```\nshell\n```\n") == std::vector<std::string>{"int a;\n"});
  CHECK(cpp_blocks("\n```cpp\nint b;\n```\n") != std::vector<std::string>{"int a;\n"});
  CHECK(cpp_blocks("no block").empty());
}
