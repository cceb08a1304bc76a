#include "cli/live_flags.hpp"

#include <fmt/format.h>

namespace refrain {
namespace {

std::string known_checks(const std::string& text) {
  return read_pointer_checks(text) ? std::string() : fmt::format("expected every, first:N or sample:N, found {}", text);
}

std::string known_signal(const std::string& text) {
  return read_signal(text) != 0 ? std::string()
                                : fmt::format("expected a signal such as USR2 that can be caught, found {}", text);
}

}  // namespace

void add_live_flags(Options app, LiveFlags& flags) {
  app.add_option("--until-graphs", flags.settings.launches, "of a command: stop listening after so many graph launches")
      .positive();
  app.add_option("--seconds", flags.settings.seconds, "of a command: stop listening after so many seconds").positive();
  app.add_option("--signal", flags.signal, "of a command: listen from this signal to the next one, e.g. USR2")
      .check(known_signal);
  app.add_option("--nvtx-range", flags.settings.range, "of a command: listen inside the NVTX range of this name");
  app.add_flag("--by-calls", flags.settings.by_calls,
               "of a command: listen where it calls refrain_audit_begin and refrain_audit_end (refrain_audit.h)");
  app.add_option("--pointer-checks", flags.checks,
                 "of a command: at which launches of a graph to look at its pointers again: every, first:N, sample:N")
      .check(known_checks);
}

LiveSettings live_settings(const LiveFlags& flags, const std::string& folder) {
  LiveSettings settings = flags.settings;
  settings.folder = folder;
  settings.signal = read_signal(flags.signal);
  settings.checks = read_pointer_checks(flags.checks).value_or(PointerChecks{});
  return settings;
}

}  // namespace refrain
