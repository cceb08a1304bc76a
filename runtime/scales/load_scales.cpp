#include "runtime/scales/load_scales.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <set>

#include "graphs/error.hpp"
#include "runtime/scales/verify_scales.hpp"

namespace refrain {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse(const std::string& file, const std::string& what, const std::string& sentence) {
  throw Error(ErrorKind::refused, what, sentence, file);
}

std::string inside(const std::string& folder, const std::string& name) {
  return (fs::path(folder) / name).lexically_normal().string();
}

void check_bindings(const Provenance& p, const std::string& folder, const std::string& base,
                    const LoadScalesOptions& options) {
  const std::string again = "materialize the overlay again", fetch = "fetch the base checkpoint again";
  check_bound(p.overlay, inside(folder, kOverlayName), "overlay", again);
  check_bound(p.merged_index, inside(folder, kIndexName), "merged index", again);
  if (p.base_index) check_bound(*p.base_index, inside(base, p.base_index->path), "base index", fetch);
  const BindingCheck check = options.hash_base_files ? BindingCheck::hash : BindingCheck::size;
  for (const FileRef& file : p.base_files)
    check_bound(file, inside(base, file.path), "base file", fetch, check, options.progress);
}

LoadedScales find_in_overlay(const std::string& folder, const LoadScalesOptions& options) {
  LoadedScales found;
  found.provenance = load_provenance(folder);
  const Provenance& p = *found.provenance;
  const std::string base = base_folder(p, folder, options.base);
  check_bindings(p, folder, base, options);
  check_tensor_list(p, SafetensorsFile(inside(folder, kOverlayName)));
  const Checkpoint merged = read_index(inside(folder, kIndexName));
  std::map<std::string, std::string> paths;
  for (const std::string& file : merged.files) paths[file] = inside(file == kOverlayName ? folder : base, file);
  found.scales = read_scales(options.rules.value_or(p.rules), merged.weight_map, paths);
  return found;
}

LoadedScales find_in_checkpoint(const std::string& path, const LoadScalesOptions& options) {
  const Checkpoint checkpoint = open_checkpoint(path);
  if (std::find(checkpoint.files.begin(), checkpoint.files.end(), kOverlayName) != checkpoint.files.end())
    refuse(path, kOverlayName,
           fmt::format("expected {} beside this overlay, found none: it is not whole; materialize it again",
                       kProvenanceName));
  std::map<std::string, std::string> paths;
  for (const std::string& file : checkpoint.files) paths[file] = checkpoint.path_of(file);
  LoadedScales found;
  found.scales = read_scales(options.rules ? *options.rules : default_scale_rules(), checkpoint.weight_map, paths);
  return found;
}

/// The layer as the rules name it, for one that nothing was found of.
LayerScales absent(const ScaleRules& rules, LayerRole role, std::uint32_t layer) {
  for (const ScaleGroup& group : rules.groups)
    if (group.role == role) return uncalibrated(group, layer);
  throw Error(
      ErrorKind::refused, fmt::format("{} layer {}", to_string(role), layer),
      fmt::format("expected scale rules with a {0} group, found none; add one, or load no {0} layers", to_string(role)),
      "");
}

void settle(const Scale& scale, ScalePart part, const LayerScales& layer, const std::string& path, bool strict,
            std::vector<std::string>& warnings) {
  if (scale.calibrated) return;
  const std::string what = fmt::format("{} layer {}", to_string(layer.role), layer.name);
  if (layer.role == LayerRole::draft)
    refuse(path, what,
           fmt::format("expected calibrated K and V scales, found no {} ({}); calibrate the draft, or serve without it",
                       to_string(part), scale.tensor));
  if (strict)
    refuse(path, what,
           fmt::format("expected calibrated K and V scales, found no {} ({}); calibrate it, or load without strict",
                       to_string(part), scale.tensor));
  warnings.push_back(fmt::format("{}: {}: no {} scale ({}); 1.0 is used, calibrate it or load with strict", path, what,
                                 to_string(part), scale.tensor));
}

void take(LayerRole role, const std::vector<std::uint32_t>& wanted, const LoadedScales& found, const ScaleRules& rules,
          const std::string& path, bool strict, LoadedScales& out) {
  for (const std::uint32_t number : std::set<std::uint32_t>(wanted.begin(), wanted.end())) {
    const LayerScales* there = found.scales.find(role, number);
    LayerScales layer = there != nullptr ? *there : absent(rules, role, number);
    settle(layer.k, ScalePart::k, layer, path, strict, out.warnings);
    settle(layer.v, ScalePart::v, layer, path, strict, out.warnings);
    out.scales.layers.push_back(std::move(layer));
  }
  for (const LayerScales& layer : found.scales.layers)
    if (layer.role == role && std::find(wanted.begin(), wanted.end(), layer.layer) == wanted.end())
      refuse(path, fmt::format("{} layer {}", to_string(role), layer.name),
             "expected the model's own layers, found scales for one that it has not; name the right checkpoint");
}

}  // namespace

LayersWanted LayersWanted::first(std::uint32_t target, std::uint32_t draft) {
  LayersWanted wanted{std::vector<std::uint32_t>(target), std::vector<std::uint32_t>(draft)};
  std::iota(wanted.target.begin(), wanted.target.end(), 0u);
  std::iota(wanted.draft.begin(), wanted.draft.end(), 0u);
  return wanted;
}

LoadedScales find_scales(const std::string& path, const LoadScalesOptions& options) {
  std::error_code ignored;
  const bool overlay =
      fs::exists(fs::path(path) / kProvenanceName, ignored) || fs::exists(fs::path(path) / kOverlayName, ignored);
  return overlay ? find_in_overlay(path, options) : find_in_checkpoint(path, options);
}

LoadedScales admit_scales(LoadedScales found, const LayersWanted& wanted, const std::string& source,
                          const LoadScalesOptions& options) {
  if (!wanted.draft.empty() && !options.allow_draft_e4m3)
    refuse(source, "E4M3 KV with draft layers",
           "expected it to be asked for, found that it was not; admit it by the option, or serve without a draft");
  const ScaleRules rules = options.rules      ? *options.rules
                           : found.provenance ? found.provenance->rules
                                              : default_scale_rules();
  LoadedScales out;
  take(LayerRole::target, wanted.target, found, rules, source, options.strict, out);
  if (!wanted.draft.empty()) take(LayerRole::draft, wanted.draft, found, rules, source, options.strict, out);
  out.provenance = std::move(found.provenance);
  return out;
}

LoadedScales load_scales(const std::string& path, const LayersWanted& wanted, const LoadScalesOptions& options) {
  // Before anything is read: what is not admitted is not hashed for minutes first.
  if (!wanted.draft.empty() && !options.allow_draft_e4m3) return admit_scales({}, wanted, path, options);
  return admit_scales(find_scales(path, options), wanted, path, options);
}

}  // namespace refrain
