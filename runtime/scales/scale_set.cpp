#include "runtime/scales/scale_set.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "graphs/error.hpp"
#include "runtime/scales/calibration.hpp"
#include "runtime/scales/safetensors.hpp"

namespace refrain {
namespace {

struct Found {
  std::string tensor;
  ScaleMatch match;
};

/// By group too: whether two of them give the same layer is for check_distinct to say.
using Layers = std::map<std::pair<const ScaleGroup*, std::uint32_t>, LayerScales>;

void add(Layers& layers, const Found& found, float value, const std::string& path) {
  const auto& [group, number] = found.match.layer;
  LayerScales& layer = layers.try_emplace({group, number}, uncalibrated(*group, number)).first->second;
  check_scale(value, found.tensor, path);
  (found.match.part == ScalePart::k ? layer.k : layer.v) = {value, true, found.tensor, path};
}

}  // namespace

void check_distinct(const std::vector<LayerScales>& layers, const std::string& where) {
  std::map<std::pair<LayerRole, std::uint32_t>, std::string> names;
  std::set<std::string> loaded;
  for (const LayerScales& layer : layers) {
    const auto [first, fresh] = names.emplace(std::pair(layer.role, layer.layer), layer.name);
    if (!fresh)
      throw Error(ErrorKind::refused, layer.name,
                  fmt::format("expected {} layer {} once, found it as {} too; drop one of the two, or correct the "
                              "scale rules",
                              to_string(layer.role), layer.layer, first->second),
                  where);
    if (!loaded.insert(layer.loaded_as).second)
      throw Error(ErrorKind::refused, layer.name,
                  fmt::format("expected a layer that loads under a name of its own, found another one as {}; correct "
                              "load_as or first in the scale rules",
                              layer.loaded_as),
                  where);
  }
}

const LayerScales* ScaleSet::find(LayerRole role, std::uint32_t layer) const noexcept {
  const auto found = std::find_if(layers.begin(), layers.end(),
                                  [&](const LayerScales& l) { return l.role == role && l.layer == layer; });
  return found == layers.end() ? nullptr : &*found;
}

LayerScales uncalibrated(const ScaleGroup& group, std::uint32_t layer) {
  LayerScales scales{.role = group.role,
                     .layer = layer,
                     .name = group.layer.name(layer),
                     .loaded_as = group.loaded_name(layer),
                     .k = {},
                     .v = {}};
  scales.k.tensor = group.k.name(layer);
  scales.v.tensor = group.v.name(layer);
  return scales;
}

ScaleSet read_scales(const ScaleRules& rules, const std::map<std::string, std::string>& weight_map,
                     const std::map<std::string, std::string>& paths) {
  std::map<std::string, std::vector<Found>> by_file;
  for (const auto& [tensor, file] : weight_map)
    if (const auto match = match_scale(rules, tensor)) by_file[file].push_back({tensor, *match});
  Layers layers;
  for (const auto& [file, found] : by_file) {
    const SafetensorsFile content(paths.at(file));
    for (const Found& scale : found) add(layers, scale, content.scalar(scale.tensor), content.file().path());
  }
  ScaleSet set;
  for (auto& [key, layer] : layers) set.layers.push_back(std::move(layer));
  std::sort(set.layers.begin(), set.layers.end(), [](const LayerScales& a, const LayerScales& b) {
    return std::pair(a.role, a.layer) < std::pair(b.role, b.layer);
  });
  check_distinct(set.layers, by_file.empty() ? "" : paths.at(by_file.begin()->first));
  return set;
}

}  // namespace refrain
