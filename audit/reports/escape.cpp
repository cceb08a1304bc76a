#include "audit/reports/escape.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>

namespace refrain {
namespace {

struct Decoded {
  std::uint32_t code = 0;
  std::size_t bytes = 0;  ///< 0: no character begins here
};

/// One character by the table of Unicode, "well-formed UTF-8": no overlong form, no surrogate, none past 10FFFF.
Decoded decode(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  const std::uint8_t first = byte(0);
  if (first < 0x80) return {first, 1};
  const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < length) return {};
  std::uint32_t code = first & (0x7FU >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0U) != 0x80U) return {};
    code = code << 6 | (byte(i) & 0x3FU);
  }
  const bool overlong = (length == 3 && code < 0x800) || (length == 4 && code < 0x10000);
  if (overlong || code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF)) return {};
  return {code, length};
}

/// C1 controls, line and paragraph separators, direction marks, noncharacters that XML forbids.
bool hidden(std::uint32_t code) {
  return (code >= 0x7F && code <= 0x9F) || (code >= 0x200E && code <= 0x200F) || (code >= 0x2028 && code <= 0x202E) ||
         (code >= 0x2066 && code <= 0x2069) || code == 0xFEFF || (code & 0xFFFEU) == 0xFFFE;
}

std::string control(std::uint32_t code) {
  switch (code) {
    case '\n': return "\\n";
    case '\r': return "\\r";
    case '\t': return "\\t";
    default: return code < 0x100 ? fmt::format("\\x{:02x}", code) : fmt::format("\\u{:04x}", code);
  }
}

/// Copies `text`, with quote(c) for each character that it answers.
template <class Quote>
std::string quoted(std::string_view text, Quote quote) {
  std::string out;
  for (const char c : text)
    if (const std::string_view other = quote(c); other.empty())
      out += c;
    else
      out += other;
  return out;
}

std::string_view xml_entity(char c) {
  switch (c) {
    case '&': return "&amp;";
    case '<': return "&lt;";
    case '>': return "&gt;";
    case '"': return "&quot;";
    case '\'': return "&#39;";
    default: return {};
  }
}

}  // namespace

std::string visible(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const Decoded next = decode(text);
    if (next.bytes == 0)
      out += "\xEF\xBF\xBD";
    else if (next.code < 0x20 || hidden(next.code))
      out += control(next.code);
    else
      out += text.substr(0, next.bytes);
    text.remove_prefix(next.bytes == 0 ? 1 : next.bytes);
  }
  return out;
}

std::string xml(std::string_view text) {
  return quoted(visible(text), xml_entity);
}

std::string markdown(std::string_view text) {
  std::string out;
  for (const char c : visible(text)) {
    if (const std::string_view entity = xml_entity(c); !entity.empty()) {
      out += entity;
      continue;
    }
    // A backslash takes the meaning of punctuation; `@` would call a person, and `:` and `.` make a link of a name.
    if (std::string_view("\\`*_{}[]()#+-!|~").find(c) != std::string_view::npos)
      out += '\\';
    else if (c == '@' || c == ':') {
      out += fmt::format("&#{};", static_cast<int>(c));
      continue;
    }
    out += c;
  }
  return out;
}

std::string github_message(std::string_view text) {
  return quoted(visible(text), [](char c) -> std::string_view { return c == '%' ? "%25" : std::string_view(); });
}

std::string github_property(std::string_view text) {
  return quoted(visible(text), [](char c) -> std::string_view {
    switch (c) {
      case '%': return "%25";
      case ':': return "%3A";
      case ',': return "%2C";
      default: return {};
    }
  });
}

std::string uri(std::string_view path) {
  std::string out = path.starts_with('/') ? "file://" : "";
  for (const char c : path) {
    const bool plain = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
                       std::string_view("-._~/").find(c) != std::string_view::npos;
    if (plain)
      out += c;
    else
      out += fmt::format("%{:02X}", static_cast<std::uint8_t>(c));
  }
  return out;
}

}  // namespace refrain
