// The options of a window over a running program, which `refrain audit -- CMD` and
// `refrain record -- CMD` share.
#pragma once

#include <string>

#include "audit/cupti/live_settings.hpp"
#include "cli/options.hpp"

namespace refrain {

struct LiveFlags {
  LiveSettings settings;
  std::string signal, checks = "every";
};

void add_live_flags(Options app, LiveFlags& flags);
/// The settings that were asked for, for recordings in `folder`.
[[nodiscard]] LiveSettings live_settings(const LiveFlags& flags, const std::string& folder);

}  // namespace refrain
