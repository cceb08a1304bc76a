// Which tensors of a checkpoint are K and V scales, which layers are target and
// which draft, and as what a draft layer is loaded. It is data: a rule file
// (`refrain.scale-rules/1`) or the built-in default; no other code knows a name.
// An example, for a draft layer that follows 48 target layers once loaded:
//
//   {"schema": "refrain.scale-rules/1",
//    "groups": [{"role": "draft",
//                "layer": "mtp.layers.{layer}",
//                "k": "mtp.layers.{layer}.self_attn.k_scale",
//                "v": "mtp.layers.{layer}.self_attn.v_scale",
//                "attention": "mtp.layers.{layer}.self_attn.k_proj.weight",
//                "load_as": "model.layers.{layer}", "first": 48}]}
//
// `layer` is how a calibration report names it. `attention` (may be absent) is a
// tensor that every layer with a KV cache has: with it, a report must hold those
// layers and no others. `load_as` is `layer`, and `first` 0, where absent.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graphs/json_view.hpp"

namespace refrain {

enum class LayerRole : std::uint8_t { target, draft };
[[nodiscard]] const char* to_string(LayerRole role) noexcept;

enum class ScalePart : std::uint8_t { k, v };
[[nodiscard]] const char* to_string(ScalePart part) noexcept;  ///< `K` or `V`

/// A name with one `{layer}` in it, which stands for a decimal number without leading zeros.
class LayerPattern {
 public:
  LayerPattern() = default;
  /// Nothing unless `{layer}` occurs exactly once.
  [[nodiscard]] static std::optional<LayerPattern> parse(std::string_view text);

  [[nodiscard]] std::optional<std::uint32_t> match(std::string_view name) const;
  [[nodiscard]] std::string name(std::uint32_t layer) const;
  [[nodiscard]] std::string text() const;

 private:
  std::string before_, after_;
};

struct ScaleGroup {
  LayerRole role = LayerRole::target;
  LayerPattern layer, k, v;
  std::optional<LayerPattern> attention;
  LayerPattern load_as;
  std::uint32_t first = 0;  ///< layer 0 of the checkpoint is loaded as this one

  [[nodiscard]] const LayerPattern& part(ScalePart which) const noexcept { return which == ScalePart::k ? k : v; }
  [[nodiscard]] std::string loaded_name(std::uint32_t number) const { return load_as.name(first + number); }
};

struct ScaleRules {
  std::vector<ScaleGroup> groups;
};

struct LayerMatch {
  const ScaleGroup* group = nullptr;  ///< one of the rules' own
  std::uint32_t layer = 0;
};
struct ScaleMatch {
  LayerMatch layer;
  ScalePart part = ScalePart::k;
};

/// What the rules take `name` for, if anything. They throw Error{input} where two groups claim it.
[[nodiscard]] std::optional<ScaleMatch> match_scale(const ScaleRules& rules, std::string_view name);
[[nodiscard]] std::optional<LayerMatch> match_layer(const ScaleRules& rules, std::string_view name);
[[nodiscard]] std::optional<LayerMatch> match_attention(const ScaleRules& rules, std::string_view name);

/// `model.layers.{layer}.self_attn.k_scale` and `v_scale` for the target, `mtp.layers.{layer}...` for the draft.
[[nodiscard]] ScaleRules default_scale_rules();
[[nodiscard]] ScaleRules load_scale_rules(const std::string& path);
[[nodiscard]] ScaleRules read_scale_rules(const JsonView& view);
[[nodiscard]] nlohmann::json scale_rules_json(const ScaleRules& rules);

}  // namespace refrain
