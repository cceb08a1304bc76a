// Runs a command with the auditor inside it and says what came of that: its exit
// code, the recordings, and why there is none.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "cli/live_flags.hpp"

namespace refrain {

struct LiveOutcome {
  int exit_code = 0;                              ///< of the command
  std::vector<std::filesystem::path> recordings;  ///< one for each process and window, by process
  std::vector<std::string> problems;              ///< what kept the auditor from listening, one line each
  [[nodiscard]] bool could_listen() const noexcept { return problems.empty() && !recordings.empty(); }
};

/// The recordings come to lie in `folder`, which is made. Throws Error{usage} when the command cannot be started.
[[nodiscard]] LiveOutcome run_live(const std::vector<std::string>& command, const LiveFlags& flags,
                                   const std::filesystem::path& folder, const std::string& library);

/// One line on standard error for each problem, and one where nothing was recorded.
void print_problems(const LiveOutcome& outcome);

/// A folder of its own for the recordings of one run, gone with this object.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace refrain
