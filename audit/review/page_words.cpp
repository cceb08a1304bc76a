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
