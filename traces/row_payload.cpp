#include "traces/row_payload.hpp"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string>

#include "graphs/text.hpp"

namespace refrain {
namespace {

using Json = nlohmann::json;

constexpr std::uint64_t kMostRows = 999'999'999;
constexpr std::size_t kMostJsonBytes = std::size_t{64} << 10;
constexpr int kNested = 4;

struct Field {
  std::string_view name;
  bool bucket;
};

constexpr std::array kFields = {
    Field{"rows", false},       Field{"real_rows", false},  Field{"bucket", true},
    Field{"bucket_rows", true}, Field{"padded_rows", true},
};

bool same(std::string_view field, std::string_view name) noexcept {
  return std::equal(field.begin(), field.end(), name.begin(), name.end(),
                    [](char a, char b) { return a == b || (a == ' ' && b == '_'); });
}

const Field* find_field(std::string_view name) noexcept {
  const auto* at = std::find_if(kFields.begin(), kFields.end(), [&](const Field& f) { return same(name, f.name); });
  return at == kFields.end() ? nullptr : at;
}

void take_value(RowPayload& payload, const std::string& key, const Json& value) {
  if (value.is_number_unsigned())
    payload.take(key, value.get<std::uint64_t>());
  else
    payload.take(key, value.is_string() ? std::string_view(value.get_ref<const std::string&>()) : std::string_view());
}

void walk(const Json& value, int depth, RowPayload& payload) {
  if (depth == kNested) return;
  for (const auto& [key, part] : value.items()) {
    if (part.is_structured())
      walk(part, depth + 1, payload);
    else if (value.is_object())
      take_value(payload, key, part);
  }
}

}  // namespace

bool RowPayload::knows(std::string_view field) noexcept {
  return find_field(field) != nullptr;
}

void RowPayload::note(Told& told, std::optional<std::uint32_t> value) noexcept {
  if (!value || (told.value && *told.value != *value)) told.ambiguous = true;
  told.value = value;
}

void RowPayload::take(std::string_view name, std::uint64_t value) noexcept {
  const Field* field = find_field(name);
  if (field == nullptr) return;
  const bool sound = value <= kMostRows && !(field->bucket && value == 0);
  note(field->bucket ? bucket_ : real_, sound ? std::optional(static_cast<std::uint32_t>(value)) : std::nullopt);
}

void RowPayload::take(std::string_view name, std::string_view value) noexcept {
  const bool decimal = !value.empty() && value.find_first_not_of("0123456789") == std::string_view::npos;
  take(name, decimal ? parse_unsigned(value).value_or(kMostRows + 1) : kMostRows + 1);
}

void RowPayload::take_json(std::string_view json) {
  // What speaks of no rows need not be taken apart: libraries write a payload at every call.
  if (json.size() > kMostJsonBytes) return;
  if (json.find("rows") == std::string_view::npos && json.find("bucket") == std::string_view::npos) return;
  const Json parsed = Json::parse(json, nullptr, false);
  if (parsed.is_structured()) walk(parsed, 0, *this);
}

RowCounts RowPayload::rows() const noexcept {
  const auto of = [](const Told& told) { return told.value && !told.ambiguous ? *told.value : RowCounts::kNotTold; };
  const RowCounts rows{of(bucket_), of(real_)};
  const bool both = rows.bucket != RowCounts::kNotTold && rows.real != RowCounts::kNotTold;
  return both && rows.real > rows.bucket ? RowCounts{} : rows;
}

}  // namespace refrain
