// A program run to its end for a benchmark, with how long it took and the most
// memory that it had; and a folder for what it reads. Its output is thrown away.
#pragma once

#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <string>
#include <vector>

namespace refrain::bench {

struct Command {
  double ms = 0;
  double cpu_ms = 0;             ///< of all its threads: what a busy machine does not change
  std::uint64_t peak_bytes = 0;  ///< VmHWM, sampled each millisecond
};

/// `words`: the program's path, then its arguments. Throws Error{input} when it ends with another code than these.
[[nodiscard]] Command run_command(std::vector<std::string> words, std::initializer_list<int> codes = {0});

/// The `refrain` that was built beside this program. Throws Error{usage}, naming the program `who`, where there is
/// none.
[[nodiscard]] std::string refrain_beside(const char* who);

/// A folder of this process's own that goes with it.
class TemporaryFolder {
 public:
  explicit TemporaryFolder(const std::string& name);
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  [[nodiscard]] std::string path(const std::string& name) const { return (path_ / name).string(); }
  /// The path of a new file with that text. Throws Error{input}.
  [[nodiscard]] std::string write(const std::string& name, const std::string& text) const;

 private:
  std::filesystem::path path_;
};

}  // namespace refrain::bench
