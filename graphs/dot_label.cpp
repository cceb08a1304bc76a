#include "graphs/dot_label.hpp"

#include <algorithm>

#include "graphs/text.hpp"

namespace refrain {
namespace {

bool is_line_escape(char c) {
  return c == 'n' || c == 'l' || c == 'r';
}

}  // namespace

bool DotLabel::parse(std::string_view text) {
  leaves_.clear();
  row_end_.clear();
  text = trim(text);
  record_ = text.starts_with('{');
  if (record_) return parse_record(text);
  parse_lines(text);
  return true;
}

// `{` opens a leaf, `|` ends one and opens the next, `}` ends the one that is open. A pipe of the outermost
// record ends a row as well.
bool DotLabel::parse_record(std::string_view text) {
  std::size_t depth = 0;
  std::size_t begin = 0;
  bool open = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\\') {
      ++i;
      continue;
    }
    if (c != '{' && c != '|' && c != '}') continue;
    if (depth == 0 && c != '{') return false;
    const std::string_view leaf = trim(text.substr(begin, i - begin));
    if (open && (c != '{' || !leaf.empty())) leaves_.push_back(leaf);
    if (c == '{') ++depth;
    if (c == '|' && depth == 1) row_end_.push_back(leaves_.size());
    if (c == '}' && --depth == 0) row_end_.push_back(leaves_.size());
    open = c != '}';
    begin = i + 1;
  }
  return depth == 0;
}

void DotLabel::parse_lines(std::string_view text) {
  std::size_t begin = 0;
  const auto end_line = [&](std::size_t end, std::size_t next) {
    const std::string_view line = trim(text.substr(begin, end - begin));
    begin = next;
    if (line.empty()) return;
    leaves_.push_back(line);
    row_end_.push_back(leaves_.size());
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\n') end_line(i, i + 1);
    if (text[i] != '\\' || i + 1 == text.size()) continue;
    if (is_line_escape(text[i + 1])) end_line(i, i + 2);
    ++i;
  }
  end_line(text.size(), text.size());
}

std::span<const std::string_view> DotLabel::row(std::size_t index) const noexcept {
  const std::size_t begin = index == 0 ? 0 : row_end_[index - 1];
  return std::span(leaves_).subspan(begin, row_end_[index] - begin);
}

std::span<const std::string_view> DotLabel::row_of(std::string_view key) const noexcept {
  for (std::size_t i = 0; i < row_count(); ++i)
    if (!row(i).empty() && row(i).front() == key) return row(i);
  return {};
}

std::optional<std::string_view> DotLabel::value(std::string_view key) const noexcept {
  for (std::size_t i = 0; i < row_count(); ++i) {
    const auto leaves = row(i);
    if (leaves.size() % 2 != 0) continue;
    const auto names = leaves.first(leaves.size() / 2);
    const auto it = std::find(names.begin(), names.end(), key);
    if (it != names.end()) return leaves[static_cast<std::size_t>(it - names.begin()) + names.size()];
  }
  return std::nullopt;
}

std::optional<std::string_view> DotLabel::after(std::string_view key) const noexcept {
  const auto it = std::find(leaves_.begin(), leaves_.end(), key);
  if (it == leaves_.end() || it + 1 == leaves_.end()) return std::nullopt;
  return it[1];
}

std::string unescape_label(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 1 == text.size()) {
      out += text[i];
      continue;
    }
    ++i;
    out += is_line_escape(text[i]) ? '\n' : text[i];
  }
  return out;
}

}  // namespace refrain
