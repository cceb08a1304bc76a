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

bool number_follows(std::string_view rest) {
  const std::size_t first = rest.find_first_not_of(" _#:=[(-");
  return first != std::string_view::npos && rest[first] >= '0' && rest[first] <= '9';
}

}  // namespace

bool is_profiler_step(std::string_view range) noexcept {
  constexpr std::string_view kPrefix = "ProfilerStep#";
  return range.starts_with(kPrefix) && number_follows(range.substr(kPrefix.size()));
}

bool is_step_name(std::string_view range) noexcept {
  if (is_profiler_step(range)) return true;
  for (std::size_t at = 0; at < range.size(); ++at)
    for (const std::string_view word : {"step", "iteration"})
      if (has_word_at(range, at, word) && number_follows(range.substr(at + word.size()))) return true;
  return false;
}

}  // namespace refrain
