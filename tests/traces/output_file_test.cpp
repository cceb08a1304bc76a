// A file that appears whole or not at all.
#include "traces/output_file.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "graphs/error.hpp"
#include "tests/catch.hpp"
#include "tests/review/scratch_folder.hpp"

using namespace refrain;
using refrain::test::ScratchFolder;

namespace {

std::string text_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

TEST_CASE("output file: until it is kept what stood there stands and after that the new text does") {
  const ScratchFolder folder;
  std::ofstream(folder / "a.csv") << "old";
  {
    OutputFile file(folder / "a.csv");
    file.write(std::string(3'000'000, 'x'));
    CHECK(text_of(folder / "a.csv") == "old");
    file.write("end");
    file.keep();
    CHECK(text_of(folder / "a.csv") == std::string(3'000'000, 'x') + "end");
  }
  CHECK(folder.files() == std::set<std::string>{"a.csv"});
}

TEST_CASE("output file: a pipe is written to and stays what it is") {
  const ScratchFolder folder;
  const std::string pipe = folder / "pipe";
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  const int reader = ::open(pipe.c_str(), O_RDONLY | O_NONBLOCK);
  REQUIRE(reader >= 0);
  {
    OutputFile file(pipe);
    file.write("text");
    file.keep();
  }
  char said[8] = {};
  CHECK(::read(reader, said, sizeof said) == 4);
  CHECK(std::string(said) == "text");
  CHECK(std::filesystem::is_fifo(pipe));
  CHECK(folder.files() == std::set<std::string>{"pipe"});
  ::close(reader);
}

TEST_CASE("output file: one that is not kept leaves the old file and nothing beside it") {
  const ScratchFolder folder;
  std::ofstream(folder / "a.csv") << "old";
  { OutputFile(folder / "a.csv").write("new"); }
  CHECK(text_of(folder / "a.csv") == "old");
  CHECK(folder.files() == std::set<std::string>{"a.csv"});
}

TEST_CASE("output file: an empty one is a file and a compressed one ends with its checksum") {
  const ScratchFolder folder;
  OutputFile plain(folder / "a"), packed(folder / "a.gz");
  plain.keep();
  packed.keep();
  CHECK(std::filesystem::file_size(folder / "a") == 0);
  // 10 bytes of header, an empty block of 2, checksum and length of nothing: RFC 1952.
  CHECK(std::filesystem::file_size(folder / "a.gz") == 20);
  CHECK(text_of(folder / "a.gz").substr(12) == std::string(8, '\0'));
}

TEST_CASE("output file: nothing can follow what was kept") {
  const ScratchFolder folder;
  OutputFile file(folder / "a");
  file.keep();
  CHECK_THROWS_AS(file.write("more"), Error);
  CHECK_THROWS_AS(file.keep(), Error);
  CHECK(text_of(folder / "a").empty());
}

TEST_CASE("output file: where the disk takes no more it is one clear error and the old file stands") {
  const ScratchFolder folder;
  std::ofstream(folder / "a") << "old";
  const auto before = std::signal(SIGXFSZ, SIG_IGN);
  rlimit limit{};
  REQUIRE(::getrlimit(RLIMIT_FSIZE, &limit) == 0);
  rlimit small = limit;
  small.rlim_cur = 100'000;
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &small) == 0);
  std::string said;
  try {
    OutputFile file(folder / "a");
    file.write(std::string(3'000'000, 'x'));
    file.keep();
  } catch (const Error& error) {
    said = error.what();
  }
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &limit) == 0);
  std::signal(SIGXFSZ, before);
  CHECK(said == (folder / "a") + ": writing: File too large; nothing was written");
  CHECK(text_of(folder / "a") == "old");
  CHECK(folder.files() == std::set<std::string>{"a"});
}

TEST_CASE("output file: a folder that is not there is one clear error") {
  const ScratchFolder folder;
  CHECK_THROWS_AS(OutputFile(folder / "none/a"), Error);
  CHECK(folder.files().empty());
}
