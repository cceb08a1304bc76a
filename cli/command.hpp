// A command of the program: how it declares its options and what it does. One
// table in main.cpp holds them all. A command returns its exit code; it throws
// Error for what it cannot do, and main prints that as one line.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cli/options.hpp"

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
  std::function<int()> (*declare)(Options app) = nullptr;
  /// Of a command that runs another one: what stood behind `--` comes with it, unparsed.
  std::function<int()> (*declare_with)(Options app, const std::vector<std::string>& behind) = nullptr;
};

std::function<int()> declare_run(Options app);
std::function<int()> declare_audit(Options app, const std::vector<std::string>& behind);
std::function<int()> declare_record(Options app, const std::vector<std::string>& behind);
std::function<int()> declare_review(Options app);
std::function<int()> declare_rules(Options app);
std::function<int()> declare_verify(Options app);
std::function<int()> declare_diff(Options app);
std::function<int()> declare_mutate(Options app);
std::function<int()> declare_scales(Options app);
std::function<int()> declare_serve(Options app);
std::function<int()> declare_doctor(Options app);

enum class Format { text, json };
/// `--format text|json`.
void add_format(Options app, Format& format);

}  // namespace refrain
