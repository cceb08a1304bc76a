// The one exception of the project: the world failed (a file, a driver, a
// command line). A bad user graph is not an error but a finding
// (audit/finding.hpp), and a programmer's mistake is an assert.
#pragma once

#include <stdexcept>
#include <string>

namespace refrain {

/// Why the program could not go on. `usage`: the command line; `input`: a file
/// that cannot be read as what it claims to be; `driver`: a driver call came
/// back with an error; `refused`: the runtime will not do what was asked,
/// because a graph that exists would become wrong, or because what was given
/// does not hold (scales that are not those of the checkpoint).
enum class ErrorKind { usage, input, driver, refused };

/// What was tried, what came back, and where. `what()` is one line:
/// `where: tried: came_back`, with empty parts left out.
class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, std::string tried, std::string came_back, std::string where, int status = 0);

  [[nodiscard]] ErrorKind kind() const noexcept { return kind_; }
  /// The driver's return code (a CUDA error number), or 0.
  [[nodiscard]] int status() const noexcept { return status_; }
  [[nodiscard]] const std::string& tried() const noexcept { return tried_; }
  [[nodiscard]] const std::string& came_back() const noexcept { return came_back_; }
  [[nodiscard]] const std::string& where() const noexcept { return where_; }

 private:
  ErrorKind kind_;
  int status_;
  std::string tried_, came_back_, where_;
};

}  // namespace refrain
