#include "graphs/json_view.hpp"

#include <algorithm>

#include "graphs/error.hpp"
#include "graphs/text.hpp"

namespace refrain {
namespace {

using nlohmann::json;

std::string quote(std::string_view text) {
  return fmt::format("\"{}\"", excerpt(text));
}

// A value in at most a few words, however large it is.
std::string brief(const json& value) {
  if (value.is_string()) return quote(value.get_ref<const std::string&>());
  if (value.is_array()) return fmt::format("an array of {}", value.size());
  if (value.is_object()) return "an object";
  return excerpt(value.dump());
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

bool is_size(const json& value) {
  return value.is_number_unsigned() && value.get_ref<const std::uint64_t&>() < kSizeLimit;
}

}  // namespace

std::string JsonView::path() const {
  if (parent_ == nullptr) return {};
  std::string path = parent_->path();
  if (key_ == nullptr) return path + fmt::format("[{}]", index_);
  if (!path.empty()) path += '.';
  return path + key_;
}

std::string JsonView::found() const {
  if (!value_->is_array() || value_->size() > 4) return brief(*value_);
  std::string list;
  for (const json& element : *value_) list += (list.empty() ? "" : ", ") + brief(element);
  return "[" + list + "]";
}

void JsonView::fail(std::string_view expected, std::string_view fix) const {
  throw Error(ErrorKind::input, path(), fmt::format("expected {}, found {}; {}", expected, found(), fix), *file_);
}

void JsonView::check_object(std::string_view what, std::initializer_list<const char*> keys) const {
  if (!value_->is_object()) fail(fmt::format("{} as an object", what), "write it as {...}");
  for (const auto& [key, value] : value_->items()) {
    const std::string& name = key;
    if (std::any_of(keys.begin(), keys.end(), [&](const char* known) { return name == known; })) continue;
    std::string list;
    for (const char* known : keys) list += (list.empty() ? "" : ", ") + std::string(known);
    throw Error(ErrorKind::input, path(),
                fmt::format("expected {} with keys among {}, found key {}; correct its spelling or remove it", what,
                            list, quote(name)),
                *file_);
  }
}

std::optional<JsonView> JsonView::find(const char* key) const {
  const auto it = value_->find(key);
  if (it == value_->end()) return std::nullopt;
  return JsonView(*it, *this, key, 0);
}

JsonView JsonView::need(const char* key) const {
  const std::optional<JsonView> child = find(key);
  if (!child)
    throw Error(ErrorKind::input, path(), fmt::format("expected the key \"{}\", found none; add it", key), *file_);
  return *child;
}

std::size_t JsonView::array_size() const {
  if (!value_->is_array()) fail("an array", "write it as [...]");
  return value_->size();
}

JsonView JsonView::at(std::size_t index) const {
  return JsonView((*value_)[index], *this, nullptr, index);
}

const std::string& JsonView::text() const {
  if (!value_->is_string()) fail("a string", "put it in quotes");
  return value_->get_ref<const std::string&>();
}

bool JsonView::boolean() const {
  if (!value_->is_boolean()) fail("true or false", "write one of the two");
  return value_->get<bool>();
}

std::uint64_t JsonView::integer(std::string_view what, std::uint64_t below) const {
  const std::string limit = below == kSizeLimit ? "2^63" : fmt::format("{}", below);
  // A parser keeps -1 as signed and 2^64 as a floating-point number: neither is unsigned here.
  if (!value_->is_number_unsigned() || value_->get_ref<const std::uint64_t&>() >= below)
    fail(fmt::format("{} as an integer in [0, {})", what, limit), "write a whole number in that range");
  return value_->get<std::uint64_t>();
}

double JsonView::number() const {
  if (!value_->is_number()) fail("a number", "write it without quotes");
  return value_->get<double>();
}

Address JsonView::address() const {
  const std::string& digits = text();
  const std::optional<std::uint64_t> value = parse_unsigned(digits);
  if (!digits.starts_with("0x") || !value)
    fail("an address of at most 64 bits", "write it in hexadecimal, like \"0x7f0000000000\"");
  return *value;
}

std::vector<std::uint8_t> JsonView::bytes() const {
  const std::string& digits = text();
  std::vector<std::uint8_t> out;
  out.reserve(digits.size() / 2);
  bool good = digits.size() % 2 == 0;
  for (std::size_t i = 0; good && i < digits.size(); i += 2) {
    const int high = hex_digit(digits[i]);
    const int low = hex_digit(digits[i + 1]);
    good = high >= 0 && low >= 0;
    out.push_back(static_cast<std::uint8_t>(good ? high * 16 + low : 0));
  }
  if (!good) fail("two hexadecimal digits a byte", "write the bytes like \"00ff\"");
  return out;
}

ByteRange JsonView::range() const {
  const bool pair = value_->is_array() && value_->size() == 2 && is_size((*value_)[0]) && is_size((*value_)[1]);
  const ByteRange range =
      pair ? ByteRange{(*value_)[0].get<std::uint64_t>(), (*value_)[1].get<std::uint64_t>()} : ByteRange{1, 0};
  if (range.begin > range.end) fail("0 <= begin <= end < 2^63", "write the range as two integers");
  return range;
}

}  // namespace refrain
