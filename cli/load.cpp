#include "cli/load.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "graphs/error.hpp"
#include "graphs/readers.hpp"

namespace refrain {
namespace {

[[noreturn]] void refuse(const std::string& file, const std::string& tried, const std::string& came_back) {
  throw Error(ErrorKind::input, tried, came_back, file);
}

std::string read_file(const std::string& file) {
  std::error_code problem;
  if (std::filesystem::is_directory(file, problem)) refuse(file, "reading", "is a directory; name a file");
  std::ifstream in(file, std::ios::binary);
  if (!in) refuse(file, "reading", fmt::format("{}; check the path", std::strerror(errno)));
  std::ostringstream text;
  text << in.rdbuf();
  if (in.bad()) refuse(file, "reading", "an input error in the middle of the file");
  return std::move(text).str();
}

std::string known_formats() {
  std::string names;
  for (const GraphReader& reader : graph_readers())
    names += fmt::format("{}{}", names.empty() ? "" : ", ", reader.name);
  return names;
}

}  // namespace

std::vector<Graph> load_graphs(const std::string& file) {
  const std::string text = read_file(file);
  if (text.find_first_not_of(" \t\r\n") == std::string::npos)
    refuse(file, "byte 0", fmt::format("expected one of {}, found an empty file", known_formats()));
  const auto readers = graph_readers();
  const auto reader = std::find_if(readers.begin(), readers.end(), [&](const GraphReader& r) { return r.sniff(text); });
  if (reader == readers.end())
    refuse(file, "byte 0",
           fmt::format("expected one of {}, found another format; see refrain audit --help", known_formats()));
  return reader->read(text, file);
}

void save_text(const std::string& file, const std::string& text) {
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

}  // namespace refrain
