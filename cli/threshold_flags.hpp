// What decides the exit code of a command that audits: its options and their check.
#pragma once

#include <CLI/CLI.hpp>

#include "audit/report.hpp"

namespace refrain {

/// `--require`, `--fail-on`.
void add_threshold(CLI::App& app, Threshold& threshold);
/// Throws Error{usage} for a required rule that there is not.
void check_threshold(const Threshold& threshold);

}  // namespace refrain
