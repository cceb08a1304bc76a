#include "cli/scales_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace refrain {
namespace {

using Json = nlohmann::ordered_json;

Json scale_json(const Scale& scale) {
  if (!scale.calibrated) return nullptr;
  return {{"value", scale.value}, {"tensor", scale.tensor}, {"file", scale.file}};
}

std::string value_text(const Scale& scale) {
  return scale.calibrated ? fmt::format("{}", scale.value) : "none";
}

auto count(const LoadedScales& found, LayerRole role) {
  return std::count_if(found.scales.layers.begin(), found.scales.layers.end(),
                       [role](const LayerScales& layer) { return layer.role == role; });
}

std::string files_of(const LayerScales& layer) {
  if (!layer.k.calibrated || !layer.v.calibrated) return layer.k.calibrated ? layer.k.file : layer.v.file;
  return layer.k.file == layer.v.file ? layer.k.file : layer.k.file + ", " + layer.v.file;
}

}  // namespace

std::string scales_json(const std::string& path, const LoadedScales& found) {
  Json layers = Json::array();
  for (const LayerScales& layer : found.scales.layers)
    layers.push_back({{"role", to_string(layer.role)},
                      {"layer", layer.layer},
                      {"name", layer.name},
                      {"loaded_as", layer.loaded_as},
                      {"k", scale_json(layer.k)},
                      {"v", scale_json(layer.v)}});
  const Json json{{"schema", "refrain.scales/1"},
                  {"path", path},
                  {"overlay", found.provenance.has_value()},
                  {"revision", found.provenance ? Json(found.provenance->revision) : Json(nullptr)},
                  {"layers", std::move(layers)}};
  return json.dump(2) + "\n";
}

std::string scales_text(const std::string& path, const LoadedScales& found) {
  std::size_t name = 5, loaded = 9;
  for (const LayerScales& layer : found.scales.layers) {
    name = std::max(name, layer.name.size());
    loaded = std::max(loaded, layer.loaded_as.size());
  }
  const auto row = [&](auto role, const auto& a, const auto& b, const auto& k, const auto& v, const auto& file) {
    return fmt::format("{:<6}  {:<{}}  {:<{}}  {:<14}  {:<14}  {}\n", role, a, name, b, loaded, k, v, file);
  };
  std::string text;
  if (!found.scales.layers.empty()) text += row("role", "layer", "loaded as", "K", "V", "from");
  for (const LayerScales& layer : found.scales.layers)
    text += row(to_string(layer.role), layer.name, layer.loaded_as, value_text(layer.k), value_text(layer.v),
                files_of(layer));
  return text + fmt::format("{}: {} target and {} draft layers with scales{}\n", path, count(found, LayerRole::target),
                            count(found, LayerRole::draft),
                            found.provenance ? fmt::format("; overlay for revision {}", found.provenance->revision)
                                             : "; the checkpoint's own");
}

std::string provenance_line(const Provenance& p) {
  return fmt::format("{} target and {} draft scales, revision {}, {} base {}{}", p.target, p.draft, p.revision,
                     p.base_files.size(), p.base_files.size() == 1 ? "file" : "files",
                     p.source_manifest ? ", source manifest" : "");
}

}  // namespace refrain
