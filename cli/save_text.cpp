#include "cli/save_text.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "graphs/error.hpp"

namespace refrain {
namespace {

[[noreturn]] void refuse(const std::string& file, const std::string& tried, const std::string& came_back) {
  throw Error(ErrorKind::input, tried, came_back, file);
}

}  // namespace

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
