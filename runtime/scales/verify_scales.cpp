#include "runtime/scales/verify_scales.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <filesystem>

#include "graphs/error.hpp"
#include "runtime/scales/overlay_plan.hpp"
#include "runtime/scales/source_manifest.hpp"

namespace refrain {
namespace {

namespace fs = std::filesystem;

constexpr const char* kAgain = "materialize the overlay again";

[[noreturn]] void refuse(const std::string& file, const std::string& what, const std::string& sentence) {
  throw Error(ErrorKind::refused, what, sentence, file);
}

std::string beside(const std::string& folder, const std::string& name) {
  return (fs::path(folder) / name).lexically_normal().string();
}

struct Places {
  std::string overlay, merged_index, base, report, source_manifest;
};

Places places(const Provenance& p, const std::string& folder, const VerifyScalesOptions& options) {
  return {.overlay = beside(folder, kOverlayName),
          .merged_index = beside(folder, kIndexName),
          .base = base_folder(p, folder, options.base),
          .report = options.report.value_or(beside(folder, p.report.path)),
          .source_manifest =
              options.source_manifest.value_or(p.source_manifest ? beside(folder, p.source_manifest->path) : "")};
}

void check_hashes(const Provenance& p, const Places& at, const VerifyScalesOptions& options) {
  check_bound(p.overlay, at.overlay, "overlay", kAgain);
  check_bound(p.merged_index, at.merged_index, "merged index", kAgain);
  const std::string fetch = "fetch the base checkpoint again, or name it with --base";
  if (p.base_index) check_bound(*p.base_index, beside(at.base, p.base_index->path), "base index", fetch);
  check_bound(p.report, at.report, "calibration report", "restore it, or name it with --report");
  if (p.source_manifest)
    check_bound(*p.source_manifest, at.source_manifest, "source manifest",
                "restore it, or name it with --source-manifest");
  for (const BindingCheck check : {BindingCheck::size, BindingCheck::hash})  // the cheap one over all files first
    for (const FileRef& file : p.base_files)
      check_bound(file, beside(at.base, file.path), "base file", fetch, check, options.progress);
}

void check_manifest_again(const Provenance& p, const Places& at, const VerifyScalesOptions& options) {
  if (!p.source_manifest) return;
  std::map<std::string, std::string> known;  // they have just been found to be these
  for (const FileRef& ref : p.base_files) known[ref.path] = ref.sha256;
  if (p.base_index) known[p.base_index->path] = p.base_index->sha256;
  check_manifest(read_source_manifest(InputFile(at.source_manifest)), p.revision, known, at.base, options.progress);
}

void check_metadata(const Provenance& p, const SafetensorsFile& overlay) {
  for (const auto& [key, value] : overlay_metadata(p)) {
    const auto found = overlay.metadata().find(key);
    if (found == overlay.metadata().end() || found->second != value)
      refuse(overlay.file().path(), key,
             fmt::format("expected {} as in the provenance, found {}; {}", value,
                         found == overlay.metadata().end() ? "nothing" : found->second, kAgain));
  }
}

void check_values(const Provenance& p, const SafetensorsFile& overlay, const OverlayPlan& plan) {
  const std::string& path = overlay.file().path();
  for (const auto& [name, tensor] : overlay.tensors()) {
    const float value = overlay.scalar(name);
    check_scale(value, name, path);
    const auto expected = plan.tensors.find(name);
    if (expected == plan.tensors.end())
      refuse(path, name, fmt::format("expected no such scale, since the report has no such layer; {}", kAgain));
    if (std::bit_cast<std::uint32_t>(value) != std::bit_cast<std::uint32_t>(expected->second))
      refuse(path, name, fmt::format("expected {} as the report gives, found {}; {}", expected->second, value, kAgain));
  }
  for (const auto& [name, value] : plan.tensors)
    if (!overlay.tensors().contains(name))
      refuse(path, name, fmt::format("expected this scale of the report, found none; {}", kAgain));
  if (p.target != plan.target || p.draft != plan.draft)
    refuse(beside(fs::path(path).parent_path().string(), kProvenanceName), "scales",
           fmt::format("expected {} target and {} draft, found {} and {}; {}", plan.target, plan.draft, p.target,
                       p.draft, kAgain));
}

void check_merged_index(const std::string& path, const OverlayPlan& plan) {
  if (*read_index(path).index != nlohmann::json::parse(plan.merged_index))
    refuse(path, "merged index",
           fmt::format("expected the base's index and the overlay's tensors, found another; {}", kAgain));
}

Checkpoint open_base(const Provenance& p, const std::string& folder) {
  Checkpoint base = open_checkpoint(p.base_index ? folder : beside(folder, p.base_files.front().path));
  std::vector<std::string> bound;
  for (const FileRef& file : p.base_files) bound.push_back(file.path);
  std::sort(bound.begin(), bound.end());
  if (bound != base.files)
    refuse(folder, "base files", fmt::format("expected those of the provenance, found others; {}", kAgain));
  return base;
}

}  // namespace

std::string base_folder(const Provenance& provenance, const std::string& overlay_folder,
                        const std::optional<std::string>& moved_to) {
  return moved_to.value_or(beside(overlay_folder, provenance.base));
}

void check_tensor_list(const Provenance& provenance, const SafetensorsFile& overlay) {
  for (const std::string& name : provenance.tensors)
    if (!overlay.tensors().contains(name))
      refuse(overlay.file().path(), name, fmt::format("expected this scale, found none; {}", kAgain));
  for (const auto& [name, tensor] : overlay.tensors())
    if (std::find(provenance.tensors.begin(), provenance.tensors.end(), name) == provenance.tensors.end())
      refuse(overlay.file().path(), name,
             fmt::format("expected the scales of the provenance alone, found one more; {}", kAgain));
}

Provenance verify_scales(const std::string& overlay_folder, const VerifyScalesOptions& options) {
  Provenance p = load_provenance(overlay_folder);
  if (options.revision && *options.revision != p.revision)
    refuse(
        beside(overlay_folder, kProvenanceName), "revision",
        fmt::format("expected {}, found {}; materialize an overlay for that revision", *options.revision, p.revision));
  const Places at = places(p, overlay_folder, options);
  check_hashes(p, at, options);
  check_manifest_again(p, at, options);
  const SafetensorsFile overlay(at.overlay);
  check_metadata(p, overlay);
  check_tensor_list(p, overlay);
  const Checkpoint base = open_base(p, at.base);
  const std::vector<CheckpointFile> files = open_files(base);
  const Calibration calibration = read_calibration(InputFile(at.report), p.rules);
  check_identity(calibration, at.report, p.revision, base);
  const OverlayPlan plan = plan_overlay(base, files, calibration, p.rules, at.report, kOverlayName);
  check_values(p, overlay, plan);
  check_merged_index(at.merged_index, plan);
  return p;
}

}  // namespace refrain
