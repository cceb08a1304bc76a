#include "graphs/error.hpp"

#include <utility>

namespace refrain {
namespace {

std::string one_line(const std::string& where, const std::string& tried, const std::string& came_back) {
  std::string line = where;
  for (const std::string* part : {&tried, &came_back}) {
    if (part->empty()) continue;
    if (!line.empty()) line += ": ";
    line += *part;
  }
  return line;
}

}  // namespace

Error::Error(ErrorKind kind, std::string tried, std::string came_back, std::string where, int status)
    : std::runtime_error(one_line(where, tried, came_back)),
      kind_(kind),
      status_(status),
      tried_(std::move(tried)),
      came_back_(std::move(came_back)),
      where_(std::move(where)) {}

}  // namespace refrain
