#include "runtime/scales/overlay_plan.hpp"

#include <fmt/format.h>

#include <set>
#include <utility>

#include "graphs/error.hpp"
#include "runtime/scales/scale_set.hpp"

namespace refrain {
namespace {

using LayerKey = std::pair<const ScaleGroup*, std::uint32_t>;

std::string describe(const LayerKey& key) {
  return fmt::format("{} layer {}", to_string(key.first->role), key.first->layer.name(key.second));
}

[[noreturn]] void refuse(const std::string& file, const std::string& what, const std::string& sentence) {
  throw Error(ErrorKind::refused, what, sentence, file);
}

/// Scales that the checkpoint brings itself, with their values checked.
std::set<LayerKey> own_layers(const Checkpoint& base, const std::vector<CheckpointFile>& files,
                              const ScaleRules& rules) {
  std::map<std::string, std::string> paths;
  for (const CheckpointFile& file : files) {
    paths[file.name] = file.content.file().path();
    for (const auto& [name, tensor] : file.content.tensors())
      if (!base.weight_map.contains(name) && match_scale(rules, name))
        refuse(file.content.file().path(), name,
               "expected the index to name this scale, found that it does not; fetch the checkpoint again");
  }
  (void)read_scales(rules, base.weight_map, paths);
  std::map<LayerKey, int> parts;
  for (const auto& [name, file] : base.weight_map)
    if (const auto match = match_scale(rules, name)) ++parts[{match->layer.group, match->layer.layer}];
  std::set<LayerKey> own;
  for (const auto& [key, count] : parts) {
    if (count != 2)
      refuse(
          base.folder, describe(key),
          "expected K and V scales, found one of the two in the checkpoint; remove it there and calibrate the layer");
    own.insert(key);
  }
  return own;
}

void check_layers(const Checkpoint& base, const std::set<LayerKey>& own, const Calibration& calibration,
                  const ScaleRules& rules, const std::string& report) {
  std::set<LayerKey> wanted, given = own;
  for (const auto& [name, file] : base.weight_map)
    if (const auto match = match_attention(rules, name)) wanted.insert({match->group, match->layer});
  for (const CalibratedLayer& layer : calibration.layers) {
    const LayerKey key{layer.match.group, layer.match.layer};
    if (own.contains(key))
      refuse(report, layer.name,
             "expected a layer without scales in the checkpoint, found that it brings its own; leave it out");
    if (key.first->attention && !wanted.contains(key))
      refuse(report, layer.name,
             fmt::format("expected a layer of the checkpoint, found none: no tensor {} there; remove it, or correct "
                         "attention in the scale rules",
                         key.first->attention->name(key.second)));
    given.insert(key);
  }
  for (const LayerKey& key : wanted)
    if (!given.contains(key))
      refuse(report, describe(key),
             "expected every layer of the checkpoint, found this one missing; calibrate it, or give rules without its "
             "group");
  std::vector<LayerScales> all;
  for (const auto& [group, layer] : given) all.push_back(uncalibrated(*group, layer));
  check_distinct(all, report);
}

}  // namespace

OverlayPlan plan_overlay(const Checkpoint& base, const std::vector<CheckpointFile>& files,
                         const Calibration& calibration, const ScaleRules& rules, const std::string& report,
                         const std::string& overlay_file) {
  check_layers(base, own_layers(base, files, rules), calibration, rules, report);
  OverlayPlan plan;
  for (const CalibratedLayer& layer : calibration.layers) {
    const ScaleGroup& group = *layer.match.group;
    for (const auto& [pattern, value] : {std::pair{&group.k, layer.k}, std::pair{&group.v, layer.v}}) {
      const std::string name = pattern->name(layer.match.layer);
      if (base.weight_map.contains(name) || !plan.tensors.emplace(name, value).second)
        refuse(report, layer.name, fmt::format("expected a scale tensor of its own, found {} taken already", name));
    }
    (group.role == LayerRole::target ? plan.target : plan.draft) += 2;
  }
  std::uint64_t data_bytes = 0;
  for (const CheckpointFile& file : files) data_bytes += file.content.data_bytes();
  plan.merged_index = merged_index(base, data_bytes, plan.tensors, overlay_file);
  return plan;
}

void check_identity(const Calibration& calibration, const std::string& report, const std::string& revision,
                    const Checkpoint& base) {
  if (calibration.revision && *calibration.revision != revision)
    refuse(report, "checkpoint.revision",
           fmt::format("expected {}, found {}; calibrate this revision", revision, *calibration.revision));
  if (!calibration.index_sha256) return;
  if (!base.index)
    refuse(report, "checkpoint.index_sha256",
           "expected the revision of a checkpoint without an index, found an index's hash; name the revision");
  if (*calibration.index_sha256 != base.index_sha256)
    refuse(
        report, "checkpoint.index_sha256",
        fmt::format("expected {}, found {}; calibrate this checkpoint", base.index_sha256, *calibration.index_sha256));
}

}  // namespace refrain
