// The K and V scales of the layers of a model, by the names of its checkpoint,
// and where each came from. Invariant: every value is finite and positive; target
// layers come first, each role by ascending number; no two layers load as one.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "runtime/scales/scale_rules.hpp"

namespace refrain {

struct Scale {
  float value = 1;
  bool calibrated = false;   ///< false: nothing was found, and 1.0 stands in for it
  std::string tensor, file;  ///< its name in the checkpoint, and the file that it was read from
};

struct LayerScales {
  LayerRole role = LayerRole::target;
  std::uint32_t layer = 0;      ///< its number in the checkpoint
  std::string name, loaded_as;  ///< `mtp.layers.0`, `model.layers.48`
  Scale k, v;
};

struct ScaleSet {
  std::vector<LayerScales> layers;

  [[nodiscard]] const LayerScales* find(LayerRole role, std::uint32_t layer) const noexcept;
};

/// Every layer once, and no two that load under one name. Throws Error{refused}; `where` is for the message.
void check_distinct(const std::vector<LayerScales>& layers, const std::string& where);

/// A layer of the group without any value yet.
[[nodiscard]] LayerScales uncalibrated(const ScaleGroup& group, std::uint32_t layer);

/// Reads every tensor of `weight_map` that the rules take for a scale; `paths` gives a file's path. A layer may come
/// out with K or V alone. Throws Error{input} for what cannot be read and Error{refused} for a value that is no scale,
/// a layer that two groups give, and two layers that load as one.
[[nodiscard]] ScaleSet read_scales(const ScaleRules& rules, const std::map<std::string, std::string>& weight_map,
                                   const std::map<std::string, std::string>& paths);

}  // namespace refrain
