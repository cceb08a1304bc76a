#include "audit/review/text_table.hpp"

#include <algorithm>

namespace refrain {
namespace {

/// Characters, not bytes: names may hold UTF-8.
std::size_t width_of(const std::string& text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

}  // namespace

std::string text_table(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths(rows.empty() ? 0 : rows.front().size());
  for (const auto& row : rows)
    for (std::size_t c = 0; c < widths.size(); ++c) widths[c] = std::max(widths[c], width_of(row[c]));
  std::string out;
  for (const auto& row : rows) {
    for (std::size_t c = 0; c < widths.size(); ++c) {
      const std::string blanks(widths[c] - width_of(row[c]), ' ');
      out += "  ";
      out += c == 0 ? row[c] + blanks : blanks + row[c];
    }
    out += '\n';
  }
  return out;
}

}  // namespace refrain
