#include "audit/cupti/live_settings.hpp"

#include <fmt/format.h>

#include <charconv>
#include <csignal>
#include <cstdlib>
#include <string_view>

namespace refrain {
namespace {

template <class Number>
std::optional<Number> number_of(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

struct SignalName {
  std::string_view name;
  int number;
};

constexpr SignalName kSignals[] = {{"USR1", SIGUSR1}, {"USR2", SIGUSR2}, {"HUP", SIGHUP}, {"ALRM", SIGALRM}};

}  // namespace

std::optional<PointerChecks> read_pointer_checks(const std::string& text) {
  if (text == "every") return PointerChecks{};
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos) return std::nullopt;
  const auto count = number_of<std::uint64_t>(std::string_view(text).substr(colon + 1));
  const std::string_view kind = std::string_view(text).substr(0, colon);
  if (kind == "first" && count) return PointerChecks{*count, 0};
  if (kind == "sample" && count && *count != 0) return PointerChecks{0, *count};
  return std::nullopt;
}

std::string pointer_checks_text(const PointerChecks& checks) {
  if (checks.sample == 1) return "every";
  return checks.sample == 0 ? fmt::format("first:{}", checks.first) : fmt::format("sample:{}", checks.sample);
}

int read_signal(const std::string& text) {
  std::string_view name = text;
  if (name.starts_with("SIG")) name.remove_prefix(3);
  for (const SignalName& signal : kSignals)
    if (signal.name == name) return signal.number;
  const auto number = number_of<int>(name);
  return number && *number > 0 && *number < NSIG && *number != SIGKILL && *number != SIGSTOP ? *number : 0;
}

std::vector<std::pair<std::string, std::string>> live_environment(const LiveSettings& settings) {
  std::vector<std::pair<std::string, std::string>> out{{kLiveFolder, settings.folder},
                                                       {kLiveChecks, pointer_checks_text(settings.checks)}};
  if (settings.launches != 0) out.emplace_back(kLiveLaunches, std::to_string(settings.launches));
  if (settings.seconds > 0) out.emplace_back(kLiveSeconds, fmt::format("{}", settings.seconds));
  if (settings.signal != 0) out.emplace_back(kLiveSignal, std::to_string(settings.signal));
  if (!settings.range.empty()) out.emplace_back(kLiveRange, settings.range);
  if (settings.by_calls) out.emplace_back(kLiveWindow, "calls");
  return out;
}

LiveSettings live_settings_from_environment() {
  LiveSettings settings;
  settings.folder = variable(kLiveFolder);
  settings.launches = number_of<std::uint64_t>(variable(kLiveLaunches)).value_or(0);
  settings.seconds = number_of<double>(variable(kLiveSeconds)).value_or(0);
  settings.signal = read_signal(variable(kLiveSignal));
  settings.range = variable(kLiveRange);
  settings.by_calls = variable(kLiveWindow) == "calls";
  settings.checks = read_pointer_checks(variable(kLiveChecks)).value_or(PointerChecks{});
  return settings;
}

}  // namespace refrain
