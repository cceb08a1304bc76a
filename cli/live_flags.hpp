// The options of a window over a running program, which `refrain audit -- CMD` and
// `refrain record -- CMD` share.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "audit/cupti/live_settings.hpp"

namespace refrain {

struct LiveFlags {
  LiveSettings settings;
  std::string signal, checks = "every";
};

void add_live_flags(CLI::App& app, LiveFlags& flags);
/// The settings that were asked for, for recordings in `folder`.
[[nodiscard]] LiveSettings live_settings(const LiveFlags& flags, const std::string& folder);

}  // namespace refrain
