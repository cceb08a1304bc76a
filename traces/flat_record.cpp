#include "traces/flat_record.hpp"

#include <fmt/format.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "graphs/error.hpp"
#include "graphs/text.hpp"

namespace refrain {
namespace {

[[noreturn]] void refuse(const std::string& place, const std::string& sentence) {
  throw Error(ErrorKind::input, place, sentence, "");
}

/// The bytes of the object under the key `graph` of the outermost object; empty when there is none that ends.
std::string_view graph_text(std::string_view line) {
  constexpr std::string_view kKey = "\"graph\"";
  std::size_t depth = 0, begin = 0, quote = 0;
  bool quoted = false, key = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (quoted) {
      if (c == '\\') ++i;
      if (c != '"') continue;
      quoted = false;
      key = depth == 1 && line.substr(quote, i + 1 - quote) == kKey;
      continue;
    }
    if (c == '"') {
      quoted = true;
      quote = i;
    } else if (c == '{' || c == '[') {
      if (key && depth == 1 && begin == 0) begin = i;
      ++depth;
    } else if (c == '}' || c == ']') {
      if (depth == 0) return {};
      if (--depth == 1 && begin != 0) return line.substr(begin, i + 1 - begin);
    } else if (c == ',') {
      key = false;
    }
  }
  return {};
}

}  // namespace

/// Takes the parser's events; stops it at anything nested.
class FlatRecord::Handler final : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit Handler(FlatRecord& out) : out_(out) { out_.used_ = out_.next_ = 0; }

  bool nested = false;
  std::size_t error_at = 0;

  bool null() override { return plain() && (field().kind = Kind::null, true); }
  bool boolean(bool value) override { return plain() && (field().flag = value, field().kind = Kind::boolean, true); }
  bool number_integer(number_integer_t value) override {
    return plain() && (field().negative = value, field().kind = Kind::negative, true);
  }
  bool number_unsigned(number_unsigned_t value) override {
    if (in_list_) return element(value);
    return plain() && (field().natural = value, field().kind = Kind::natural, true);
  }
  bool number_float(number_float_t value, const string_t&) override {
    return plain() && (field().real = value, field().kind = Kind::real, true);
  }
  bool string(string_t& value) override {
    return plain() && (field().text.swap(value), field().kind = Kind::text, true);
  }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override {
    nested = inside_;
    inside_ = true;
    return !nested;
  }
  bool key(string_t& name) override {
    if (out_.used_ == out_.fields_.size()) out_.fields_.emplace_back();
    Field& fresh = out_.fields_[out_.used_++];
    fresh.key.swap(name);
    fresh.known = false;
    return true;
  }
  bool end_object() override { return true; }
  bool start_array(std::size_t) override {
    nested = inside_ && in_list_;
    if (!inside_ || nested) return false;
    in_list_ = true;
    field().kind = Kind::list;
    field().length = 0;
    return true;
  }
  bool end_array() override {
    in_list_ = false;
    return true;
  }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::json::exception&) override {
    error_at = position;
    return false;
  }

 private:
  /// The value stands in the object itself.
  [[nodiscard]] bool plain() {
    nested = nested || in_list_;
    return inside_ && !in_list_;
  }
  [[nodiscard]] bool element(std::uint64_t value) {
    if (++field().length > 2) return true;  // it is no range, and says so when it is asked for one
    (field().length == 1 ? field().list.begin : field().list.end) = value;
    return true;
  }
  [[nodiscard]] Field& field() { return out_.fields_[out_.used_ - 1]; }

  FlatRecord& out_;
  bool inside_ = false, in_list_ = false;
};

void FlatRecord::parse_flat(std::string_view line) {
  Handler handler(*this);
  if (nlohmann::json::sax_parse(line, &handler)) return;
  const std::string key = used_ == 0 ? "" : excerpt(fields_[used_ - 1].key);
  used_ = 0;
  if (handler.nested) refuse(key, "expected a string, a number, true or false, found something nested; flatten it");
  if (handler.error_at != 0)
    refuse(fmt::format("character {}", handler.error_at), "expected JSON, found a syntax error; mend it");
  refuse("", "expected an object, found another value; write it as {...}");
}

void FlatRecord::parse(std::string_view line) {
  graph_ = {};
  Handler handler(*this);
  if (nlohmann::json::sax_parse(line, &handler)) return;
  if (handler.nested) graph_ = graph_text(line);
  if (graph_.empty()) return parse_flat(line);
  const auto begin = static_cast<std::size_t>(graph_.data() - line.data());
  // A number and blanks instead, so that a syntax error behind it keeps its place.
  rest_ = line;
  rest_.replace(begin, graph_.size(), graph_.size(), ' ');
  rest_[begin] = '0';
  parse_flat(rest_);
}

const FlatRecord::Field* FlatRecord::find(std::string_view key) const {
  for (std::size_t i = 0; i < used_; ++i) {
    const std::size_t at = next_ + i < used_ ? next_ + i : next_ + i - used_;
    if (fields_[at].key != key) continue;
    next_ = at + 1;
    return &fields_[at];
  }
  return nullptr;
}

FlatRecord::Field* FlatRecord::take(std::string_view key) {
  const Field* field = find(key);
  if (field == nullptr) return nullptr;
  Field& taken = fields_[static_cast<std::size_t>(field - fields_.data())];
  taken.known = true;
  return &taken;
}

bool FlatRecord::has(std::string_view key) const {
  return find(key) != nullptr;
}

std::optional<std::string_view> FlatRecord::text(std::string_view key) {
  const Field* field = take(key);
  if (field == nullptr) return std::nullopt;
  if (field->kind != Kind::text) fail(key, "a string", "put it in quotes");
  return field->text;
}

std::optional<std::uint64_t> FlatRecord::integer(std::string_view key, std::uint64_t most) {
  const Field* field = take(key);
  if (field == nullptr) return std::nullopt;
  if (field->kind != Kind::natural || field->natural > most)
    fail(key, fmt::format("an integer in [0, {}]", most), "write a whole number in that range");
  return field->natural;
}

std::optional<std::int32_t> FlatRecord::signed_integer(std::string_view key) {
  using Limits = std::numeric_limits<std::int32_t>;
  const Field* field = take(key);
  if (field == nullptr) return std::nullopt;
  if (field->kind == Kind::natural && field->natural <= static_cast<std::uint64_t>(Limits::max()))
    return static_cast<std::int32_t>(field->natural);
  if (field->kind != Kind::negative || field->negative < Limits::min())
    fail(key, "an integer of 32 bits", "write a whole number in that range");
  return static_cast<std::int32_t>(field->negative);
}

std::optional<std::uint64_t> FlatRecord::address(std::string_view key) {
  const auto digits = text(key);
  if (!digits) return std::nullopt;
  const auto value = digits->starts_with("0x") ? parse_unsigned(*digits) : std::nullopt;
  if (!value) fail(key, "an address of at most 64 bits", "write it in hexadecimal, like \"0x7f0000000000\"");
  return value;
}

std::optional<bool> FlatRecord::boolean(std::string_view key) {
  const Field* field = take(key);
  if (field == nullptr) return std::nullopt;
  if (field->kind != Kind::boolean) fail(key, "true or false", "write one of the two");
  return field->flag;
}

std::optional<double> FlatRecord::real(std::string_view key) {
  const Field* field = take(key);
  if (field == nullptr) return std::nullopt;
  switch (field->kind) {
    case Kind::natural: return static_cast<double>(field->natural);
    case Kind::negative: return static_cast<double>(field->negative);
    case Kind::real: return field->real;
    case Kind::text:
      if (field->text == "inf") return std::numeric_limits<double>::infinity();
      if (field->text == "-inf") return -std::numeric_limits<double>::infinity();
      if (field->text == "nan") return std::numeric_limits<double>::quiet_NaN();
      break;
    case Kind::null:
    case Kind::boolean:
    case Kind::list: break;
  }
  fail(key, "a number", "write one, or \"inf\", \"-inf\" or \"nan\"");
}

std::optional<ByteRange> FlatRecord::range(std::string_view key) {
  const Field* field = take(key);
  if (field == nullptr) return std::nullopt;
  if (field->kind != Kind::list || field->length != 2 || field->list.begin > field->list.end)
    fail(key, "a range with begin <= end", "write it as [begin, end]");
  return field->list;
}

std::optional<std::string_view> FlatRecord::graph() {
  const Field* field = take("graph");
  if (field == nullptr) return std::nullopt;
  if (graph_.empty()) fail("graph", "a refrain.graph/1 object", "write it as {...}");
  return graph_;
}

void FlatRecord::check_all_known(std::string_view what) const {
  for (std::size_t i = 0; i < used_; ++i)
    if (!fields_[i].known)
      refuse(excerpt(fields_[i].key),
             fmt::format("expected the fields of {}, found another or one twice; correct its spelling", what));
}

std::string FlatRecord::found(const Field& field) const {
  switch (field.kind) {
    case Kind::null: return "null";
    case Kind::boolean: return field.flag ? "true" : "false";
    case Kind::natural: return fmt::format("{}", field.natural);
    case Kind::negative: return fmt::format("{}", field.negative);
    case Kind::real: return fmt::format("{}", field.real);
    case Kind::text: return fmt::format("\"{}\"", excerpt(field.text));
    case Kind::list: return fmt::format("an array of {}", field.length);
  }
  return "?";
}

void FlatRecord::fail(std::string_view key, std::string_view expected, std::string_view fix) const {
  const Field* field = find(key);
  const std::string value = field == nullptr ? "none" : found(*field);
  refuse(std::string(key), fmt::format("expected {}, found {}; {}", expected, value, fix));
}

}  // namespace refrain
