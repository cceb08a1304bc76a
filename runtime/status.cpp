#include "runtime/status.hpp"

#include <fmt/format.h>

#include <string_view>

#include "graphs/capture_rules.hpp"

namespace refrain {
namespace {

/// The path below the repository's root, so that a message is the same on every machine.
std::string_view short_path(std::string_view path) {
  for (const std::string_view root : {"/runtime/", "/cli/", "/tests/", "/bench/"})
    if (const auto at = path.rfind(root); at != std::string_view::npos) return path.substr(at + 1);
  return path;
}

}  // namespace

std::string to_string(Status status) {
  const int code = static_cast<int>(status);
  return fmt::format("{} ({})", code_name(code), code);
}

void check(Status status, const char* what, const std::source_location& where) {
  if (status == Status::success) return;
  throw Error(ErrorKind::driver, what, to_string(status),
              fmt::format("{}:{}", short_path(where.file_name()), where.line()), static_cast<int>(status));
}

}  // namespace refrain
