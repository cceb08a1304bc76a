#include "cli/threshold_flags.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>

#include "graphs/error.hpp"

namespace refrain {
namespace {

const std::map<std::string, Severity> kSeverities{
    {"error", Severity::error}, {"warning", Severity::warning}, {"note", Severity::note}};

}  // namespace

void add_threshold(Options app, Threshold& threshold) {
  app.add_option("--require", threshold.require, "rules that must have been checked, else exit 3").delimiter(',');
  app.add_choice("--fail-on", threshold.fail_on, kSeverities, "error, warning or note: exit 1 from this severity on");
}

void check_threshold(const Threshold& threshold) {
  const std::vector<std::string> unknown = unknown_rules(threshold.require);
  if (!unknown.empty())
    throw Error(ErrorKind::usage, fmt::format("--require {}", fmt::join(unknown, ",")),
                "no such rule; see refrain rules", "");
}

}  // namespace refrain
