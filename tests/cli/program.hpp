// Runs the built program as a user would and keeps what it said.
#pragma once

#include <string>

namespace refrain::test {

struct Outcome {
  int exit_code = -1;
  std::string out, err;
};

/// Through the shell, with `arguments` as typed.
[[nodiscard]] Outcome refrain_program(const std::string& arguments);

/// The same with its standard error on a terminal of its own; `err` is what stood there, `\r` and escapes as well.
[[nodiscard]] Outcome refrain_on_terminal(const std::string& arguments);

/// A file of this test run with `text` in it; the path.
[[nodiscard]] std::string temporary_file(const std::string& name, const std::string& text);
[[nodiscard]] std::string read_text(const std::string& path);
/// A sample of traces/samples.
[[nodiscard]] std::string sample(const std::string& name);

}  // namespace refrain::test
