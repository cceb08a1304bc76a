// What `refrain audit` was asked for, and its options: they are many, so they
// have a file of their own.
#pragma once

#include <string>
#include <vector>

#include "audit/report.hpp"
#include "cli/live_flags.hpp"
#include "cli/options.hpp"

namespace refrain {

struct AuditFlags {
  std::vector<std::string> files, contracts;
  bool explain = false;
  std::size_t jobs = 0;  ///< 0 = one a core
  Threshold threshold;
  std::string format = "text", output;  ///< output: a file; empty = standard output
  std::vector<std::string> reports;     ///< `sarif=FILE`
  std::string baseline, write_baseline, suppress;
  std::vector<std::string> command;  ///< to run and audit, in place of files
  LiveFlags live;
  std::string recordings;  ///< of the command: a folder to keep them in; empty = not kept
};

/// `flags.command` is known already: with a command no file is needed.
void add_audit_flags(Options app, AuditFlags& flags);

}  // namespace refrain
