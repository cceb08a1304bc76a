// A command of the program: how it declares its options and what it does. One
// table in main.cpp holds them all. A command returns its exit code; it throws
// Error for what it cannot do, and main prints that as one line.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <vector>

namespace refrain {

/// Exit codes of every command: clean, findings, could not run, could not establish.
inline constexpr int kExitClean = 0;
inline constexpr int kExitFindings = 1;
inline constexpr int kExitCouldNotRun = 2;
inline constexpr int kExitCouldNotEstablish = 3;

struct Command {
  const char* name;
  const char* description;
  /// Declares the options on `app` and returns what to run once they are parsed.
  std::function<int()> (*declare)(CLI::App& app) = nullptr;
  /// Of a command that runs another one: what stood behind `--` comes with it, unparsed.
  std::function<int()> (*declare_with)(CLI::App& app, const std::vector<std::string>& behind) = nullptr;
};

std::function<int()> declare_run(CLI::App& app);
std::function<int()> declare_audit(CLI::App& app, const std::vector<std::string>& behind);
std::function<int()> declare_record(CLI::App& app, const std::vector<std::string>& behind);
std::function<int()> declare_review(CLI::App& app);
std::function<int()> declare_rules(CLI::App& app);
std::function<int()> declare_verify(CLI::App& app);
std::function<int()> declare_diff(CLI::App& app);
std::function<int()> declare_mutate(CLI::App& app);
std::function<int()> declare_scales(CLI::App& app);
std::function<int()> declare_serve(CLI::App& app);
std::function<int()> declare_doctor(CLI::App& app);

enum class Format { text, json };
/// `--format text|json`.
void add_format(CLI::App& app, Format& format);

}  // namespace refrain
