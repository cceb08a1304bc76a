#include "traces/step_names.hpp"

#include <cstddef>

namespace refrain {
namespace {

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

bool is_letter(char c) {
  return lower(c) >= 'a' && lower(c) <= 'z';
}

bool has_word_at(std::string_view text, std::size_t at, std::string_view word) {
  if (text.size() - at < word.size()) return false;
  for (std::size_t i = 0; i < word.size(); ++i)
    if (lower(text[at + i]) != word[i]) return false;
  return at == 0 || !is_letter(text[at - 1]);
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool number_follows(std::string_view rest) {
  const std::size_t first = rest.find_first_not_of(" _#:=[(-");
  return first != std::string_view::npos && is_digit(rest[first]);
}

/// The end of the word `step` or `iteration` that a number follows; npos where there is none.
std::size_t end_of_step_word(std::string_view range) {
  for (std::size_t at = 0; at < range.size(); ++at)
    for (const std::string_view word : {"step", "iteration"})
      if (has_word_at(range, at, word) && number_follows(range.substr(at + word.size()))) return at + word.size();
  return std::string_view::npos;
}

}  // namespace

bool is_profiler_step(std::string_view range) noexcept {
  constexpr std::string_view kPrefix = "ProfilerStep#";
  return range.starts_with(kPrefix) && number_follows(range.substr(kPrefix.size()));
}

bool is_step_name(std::string_view range) noexcept {
  return is_profiler_step(range) || end_of_step_word(range) != std::string_view::npos;
}

std::string step_kind(std::string_view range) {
  // `ProfilerStep` is no word of its own by the rule for others.
  const std::size_t word = is_profiler_step(range) ? range.find('#') : end_of_step_word(range);
  if (word == std::string_view::npos) return std::string(range);
  std::string kind(range.substr(0, word));
  std::size_t at = range.find_first_of("0123456789", word);
  while (at < range.size() && is_digit(range[at])) ++at;
  if (at < range.size() && (range[at] == ']' || range[at] == ')')) ++at;
  for (; at < range.size(); ++at) {
    if (!is_digit(range[at]))
      kind += range[at];
    else if (!is_digit(range[at - 1]))
      kind += '#';
  }
  return kind;
}

}  // namespace refrain
