// What decides the exit code of a command that audits: its options and their check.
#pragma once

#include "audit/report.hpp"
#include "cli/options.hpp"

namespace refrain {

/// `--require`, `--fail-on`.
void add_threshold(Options app, Threshold& threshold);
/// Throws Error{usage} for a required rule that there is not.
void check_threshold(const Threshold& threshold);

}  // namespace refrain
