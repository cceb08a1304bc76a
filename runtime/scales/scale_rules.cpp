#include "runtime/scales/scale_rules.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <functional>

#include "graphs/error.hpp"
#include "runtime/scales/json_text.hpp"

namespace refrain {
namespace {

constexpr std::string_view kPlaceholder = "{layer}";
constexpr std::string_view kSchema = "refrain.scale-rules/1";
constexpr std::uint64_t kLayerLimit = 1'000'000;

LayerPattern pattern(const JsonView& view) {
  const std::optional<LayerPattern> parsed = LayerPattern::parse(view.text());
  if (!parsed) view.fail("a name with {layer} in it exactly once", "write it like \"model.layers.{layer}.k_scale\"");
  return *parsed;
}

LayerRole role(const JsonView& view) {
  for (const LayerRole known : {LayerRole::target, LayerRole::draft})
    if (view.text() == to_string(known)) return known;
  view.fail("\"target\" or \"draft\"", "use one of these words");
}

ScaleGroup read_group(const JsonView& view) {
  view.check_object("a group", {"role", "layer", "k", "v", "attention", "load_as", "first"});
  ScaleGroup group;
  group.role = role(view.need("role"));
  group.layer = pattern(view.need("layer"));
  group.k = pattern(view.need("k"));
  group.v = pattern(view.need("v"));
  if (group.k.text() == group.v.text()) view.need("v").fail("another name than that of k", "correct one of the two");
  if (const auto attention = view.find("attention")) group.attention = pattern(*attention);
  const auto load_as = view.find("load_as");
  group.load_as = load_as ? pattern(*load_as) : group.layer;
  if (const auto first = view.find("first"))
    group.first = static_cast<std::uint32_t>(first->integer("a layer number", kLayerLimit));
  return group;
}

ScaleGroup default_group(LayerRole role, const std::string& prefix) {
  const auto named = [&](const char* rest) { return LayerPattern::parse(prefix + ".{layer}" + rest).value(); };
  return {.role = role,
          .layer = named(""),
          .k = named(".self_attn.k_scale"),
          .v = named(".self_attn.v_scale"),
          .attention = named(".self_attn.k_proj.weight"),
          .load_as = named("")};
}

[[noreturn]] void claimed_twice(std::string_view name) {
  throw Error(ErrorKind::input, std::string(name),
              "expected one group of the scale rules to know this name, found two; make their patterns differ", "");
}

std::optional<LayerMatch> match_one(const ScaleRules& rules, std::string_view name,
                                    const std::function<const LayerPattern*(const ScaleGroup&)>& pattern_of) {
  std::optional<LayerMatch> found;
  for (const ScaleGroup& group : rules.groups) {
    const LayerPattern* pattern = pattern_of(group);
    const auto layer = pattern == nullptr ? std::nullopt : pattern->match(name);
    if (!layer) continue;
    if (found) claimed_twice(name);
    found = {&group, *layer};
  }
  return found;
}

}  // namespace

const char* to_string(LayerRole role) noexcept {
  return role == LayerRole::target ? "target" : "draft";
}

const char* to_string(ScalePart part) noexcept {
  return part == ScalePart::k ? "K" : "V";
}

std::optional<LayerPattern> LayerPattern::parse(std::string_view text) {
  const std::size_t at = text.find(kPlaceholder);
  if (at == std::string_view::npos || text.find(kPlaceholder, at + 1) != std::string_view::npos) return std::nullopt;
  LayerPattern pattern;
  pattern.before_ = text.substr(0, at);
  pattern.after_ = text.substr(at + kPlaceholder.size());
  return pattern;
}

std::optional<std::uint32_t> LayerPattern::match(std::string_view name) const {
  if (!name.starts_with(before_)) return std::nullopt;
  name.remove_prefix(before_.size());
  if (!name.ends_with(after_)) return std::nullopt;
  name.remove_suffix(after_.size());
  if (name.empty() || name.size() > 6 || (name.size() > 1 && name.front() == '0')) return std::nullopt;
  std::uint32_t layer = 0;
  const auto [stop, code] = std::from_chars(name.data(), name.data() + name.size(), layer);
  if (code != std::errc{} || stop != name.data() + name.size()) return std::nullopt;
  return layer;
}

std::string LayerPattern::name(std::uint32_t layer) const {
  return fmt::format("{}{}{}", before_, layer, after_);
}

std::string LayerPattern::text() const {
  return fmt::format("{}{}{}", before_, kPlaceholder, after_);
}

std::optional<ScaleMatch> match_scale(const ScaleRules& rules, std::string_view name) {
  const auto k = match_one(rules, name, [](const ScaleGroup& group) { return &group.k; });
  const auto v = match_one(rules, name, [](const ScaleGroup& group) { return &group.v; });
  if (k && v) claimed_twice(name);
  if (k) return ScaleMatch{*k, ScalePart::k};
  if (v) return ScaleMatch{*v, ScalePart::v};
  return std::nullopt;
}

std::optional<LayerMatch> match_layer(const ScaleRules& rules, std::string_view name) {
  return match_one(rules, name, [](const ScaleGroup& group) { return &group.layer; });
}

std::optional<LayerMatch> match_attention(const ScaleRules& rules, std::string_view name) {
  return match_one(rules, name, [](const ScaleGroup& group) { return group.attention ? &*group.attention : nullptr; });
}

ScaleRules default_scale_rules() {
  return {{default_group(LayerRole::target, "model.layers"), default_group(LayerRole::draft, "mtp.layers")}};
}

ScaleRules load_scale_rules(const std::string& path) {
  const nlohmann::json root = read_json(InputFile(path));
  return read_scale_rules(JsonView(root, path));
}

ScaleRules read_scale_rules(const JsonView& view) {
  view.check_object("scale rules", {"schema", "groups"});
  if (view.need("schema").text() != kSchema)
    view.need("schema").fail(fmt::format("\"{}\"", kSchema),
                             "give a rule file, or use a version that knows its schema");
  const JsonView groups = view.need("groups");
  ScaleRules rules;
  for (std::size_t i = 0; i < groups.array_size(); ++i) rules.groups.push_back(read_group(groups.at(i)));
  if (rules.groups.empty()) groups.fail("at least one group", "describe the target layers");
  return rules;
}

nlohmann::json scale_rules_json(const ScaleRules& rules) {
  nlohmann::json groups = nlohmann::json::array();
  for (const ScaleGroup& group : rules.groups) {
    nlohmann::json json{{"role", to_string(group.role)}, {"layer", group.layer.text()},
                        {"k", group.k.text()},           {"v", group.v.text()},
                        {"first", group.first},          {"load_as", group.load_as.text()}};
    if (group.attention) json["attention"] = group.attention->text();
    groups.push_back(std::move(json));
  }
  return {{"schema", kSchema}, {"groups", std::move(groups)}};
}

}  // namespace refrain
