// What `refrain audit -- CMD` and `refrain record -- CMD` tell the injected library,
// by environment variables: this is the list of them. Both sides read it here, so
// that they cannot differ.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace refrain {

inline constexpr const char* kLiveFolder = "REFRAIN_LIVE_FOLDER";      ///< where each process puts its recordings
inline constexpr const char* kLiveLaunches = "REFRAIN_LIVE_LAUNCHES";  ///< close after so many graph launches
inline constexpr const char* kLiveSeconds = "REFRAIN_LIVE_SECONDS";    ///< close after so many seconds
inline constexpr const char* kLiveSignal = "REFRAIN_LIVE_SIGNAL";      ///< number: opens a window, the next closes it
inline constexpr const char* kLiveRange = "REFRAIN_LIVE_RANGE";        ///< NVTX range of this name is the window
inline constexpr const char* kLiveWindow = "REFRAIN_LIVE_WINDOW";      ///< `calls`: refrain_window_begin opens it
inline constexpr const char* kLiveChecks = "REFRAIN_LIVE_CHECKS";      ///< every, first:N, sample:N
inline constexpr const char* kLiveProgram = "REFRAIN_PROGRAM";         ///< the program, for the Python module

/// At which launches of a graph exec its pointers are looked at again: the first `first` of them, then one in
/// `sample`; 0 = none of these.
struct PointerChecks {
  std::uint64_t first = 0, sample = 1;

  /// `launch` is the number of the launch, 1 first.
  [[nodiscard]] constexpr bool wanted(std::uint64_t launch) const noexcept {
    return launch <= first || (sample != 0 && (launch - 1) % sample == 0);
  }
};

struct LiveSettings {
  std::string folder;
  std::uint64_t launches = 0;  ///< 0 = no limit
  double seconds = 0;          ///< 0 = no limit
  int signal = 0;              ///< 0 = none
  std::string range;           ///< empty = none
  bool by_calls = false;       ///< a window begins when the program asks for it, and not before
  PointerChecks checks;

  /// Open from the start of the process.
  [[nodiscard]] bool opens_at_start() const noexcept { return signal == 0 && range.empty() && !by_calls; }
};

/// `every`, `first:100`, `sample:10`; nothing for any other text.
[[nodiscard]] std::optional<PointerChecks> read_pointer_checks(const std::string& text);
[[nodiscard]] std::string pointer_checks_text(const PointerChecks& checks);

/// `USR1`, `SIGUSR2` or a number of a signal that can be caught; 0 for any other text.
[[nodiscard]] int read_signal(const std::string& text);

/// The variables that say so, without those that say nothing.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> live_environment(const LiveSettings& settings);
/// From this process' environment. A value that makes no sense counts as not set: the host program is not to blame.
[[nodiscard]] LiveSettings live_settings_from_environment();

}  // namespace refrain
