#include "audit/review/page_words.hpp"

#include <fmt/format.h>

#include "audit/reports/escape.hpp"
#include "audit/reports/html_parts.hpp"

namespace refrain {
namespace {

constexpr std::size_t kLongestName = 48, kLongestSentence = 300;

// Cut before it is quoted, too: a name may be megabytes, and is read at every place where it stands.
std::string quoted(std::string_view text, std::size_t longest) {
  return xml(shortened(visible(text.substr(0, 4 * longest)), longest));
}

}  // namespace

std::string duration_text(std::uint64_t ns) {
  const auto value = static_cast<double>(ns);
  if (ns < 1'000) return fmt::format("{} ns", ns);
  if (ns < 1'000'000) return fmt::format("{:.1f} us", value / 1e3);
  if (ns < 1'000'000'000) return fmt::format("{:.2f} ms", value / 1e6);
  return fmt::format("{:.2f} s", value / 1e9);
}

std::string duration_text(const std::optional<std::uint64_t>& ns) {
  return ns ? duration_text(*ns) : "not recorded";
}

std::string bytes_text(std::uint64_t bytes) {
  const auto value = static_cast<double>(bytes);
  if (bytes < 1024) return fmt::format("{} B", bytes);
  if (bytes < 1024 * 1024) return fmt::format("{:.1f} KiB", value / 1024);
  if (bytes < 1024 * 1024 * 1024) return fmt::format("{:.1f} MiB", value / (1024 * 1024));
  return fmt::format("{:.1f} GiB", value / (1024.0 * 1024 * 1024));
}

std::uint64_t host_ns(const StepStats& step) noexcept {
  return step.end_ns > step.start_ns ? step.end_ns - step.start_ns : 0;
}

std::string name_text(std::string_view name) {
  return quoted(name, kLongestName);
}

std::string sentence_text(std::string_view sentence) {
  return quoted(sentence, kLongestSentence);
}

std::string step_text(const Review& review, std::size_t step) {
  const std::string& name = review.timeline().text(review.steps[step].name);
  return name.empty() ? fmt::format("step {}", step + 1) : fmt::format("step {} ({})", step + 1, name_text(name));
}

}  // namespace refrain
