#include "cli/live_run.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <set>
#include <system_error>

#include "cli/child_process.hpp"
#include "graphs/error.hpp"

namespace refrain {
namespace {

namespace fs = std::filesystem;

/// Variables that the user has set already are theirs: another NVTX tool goes on as it would.
Environment environment_of(const LiveSettings& settings, const std::string& library) {
  Environment out = live_environment(settings);
  out.emplace_back("CUDA_INJECTION64_PATH", library);
  if (std::getenv("NVTX_INJECTION64_PATH") == nullptr) out.emplace_back("NVTX_INJECTION64_PATH", library);
  std::error_code problem;
  out.emplace_back(kLiveProgram, fs::read_symlink("/proc/self/exe", problem).string());
  return out;
}

/// `code<TAB>sentence`, one a line; processes of one run say the same.
void read_status(const fs::path& path, std::set<std::string>& problems) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);)
    if (const std::size_t tab = line.find('\t'); tab != std::string::npos) problems.insert(line.substr(tab + 1));
}

void collect(const fs::path& folder, LiveOutcome& outcome) {
  std::set<std::string> problems;
  std::error_code problem;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, problem)) {
    if (entry.path().extension() == ".status") read_status(entry.path(), problems);
    if (entry.path().extension() == ".gz") outcome.recordings.push_back(entry.path());
  }
  std::sort(outcome.recordings.begin(), outcome.recordings.end());
  outcome.problems.assign(problems.begin(), problems.end());
}

}  // namespace

LiveOutcome run_live(const std::vector<std::string>& command, const LiveFlags& flags, const fs::path& folder,
                     const std::string& library) {
  std::error_code problem;
  fs::create_directories(folder, problem);
  if (problem) throw Error(ErrorKind::usage, "making the folder for recordings", problem.message(), folder.string());
  const std::string place = fs::absolute(folder).string();  // the command may change its folder
  LiveOutcome outcome;
  outcome.exit_code = run_child(command, environment_of(live_settings(flags, place), library));
  collect(folder, outcome);
  return outcome;
}

void print_problems(const LiveOutcome& outcome) {
  for (const std::string& problem : outcome.problems) fmt::print(stderr, "refrain: {}\n", problem);
  if (outcome.problems.empty() && outcome.recordings.empty())
    fmt::print(stderr,
               "refrain: nothing was recorded: no process of the command used CUDA while the auditor listened\n");
}

TemporaryFolder::TemporaryFolder() {
  std::string pattern = (fs::temp_directory_path() / "refrain-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr)
    throw Error(ErrorKind::usage, "making a folder for recordings", std::strerror(errno), pattern);
  path_ = pattern;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code problem;
  fs::remove_all(path_, problem);
}

}  // namespace refrain
