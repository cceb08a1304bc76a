#include "graphs/text.hpp"

#include <charconv>

namespace refrain {

std::string excerpt(std::string_view text) {
  constexpr std::size_t kLongest = 40;
  const bool cut = text.size() > kLongest;
  std::string out(text.substr(0, cut ? kLongest - 3 : kLongest));
  for (char& c : out)
    if (c < 0x20 || c > 0x7e) c = '?';
  if (cut) out += "...";
  return out;
}

std::string_view trim(std::string_view text) noexcept {
  constexpr std::string_view kBlank = " \t\r\n";
  const std::size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

std::optional<std::uint64_t> parse_unsigned(std::string_view text) noexcept {
  int base = 10;
  if (text.starts_with("0x") || text.starts_with("0X")) {
    base = 16;
    text.remove_prefix(2);
  }
  std::uint64_t value = 0;
  const char *const first = text.data(), *const end = first + text.size();
  const auto [stop, code] = std::from_chars(first, end, value, base);
  if (text.empty() || code != std::errc{} || stop != end) return std::nullopt;
  return value;
}

std::string_view skip_byte_order_mark(std::string_view text) noexcept {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  return text;
}

// Remembers the last star and goes back to it: linear for the patterns that people write.
bool matches_glob(std::string_view pattern, std::string_view name) noexcept {
  std::size_t p = 0, n = 0, star = std::string_view::npos, resume = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = n;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == name[n])) {
      ++p, ++n;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      n = ++resume;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

}  // namespace refrain
