#include "runtime/scales/materialize.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "graphs/error.hpp"
#include "runtime/scales/overlay_plan.hpp"
#include "runtime/scales/sha256.hpp"
#include "runtime/scales/source_manifest.hpp"

namespace refrain {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void misuse(const std::string& path, const std::string& tried, const std::string& sentence) {
  throw Error(ErrorKind::usage, tried, sentence, path);
}

/// What a killed run may have left unsealed: an overlay that says it is ours.
bool unsealed_overlay(const std::string& path) {
  try {
    return SafetensorsFile(path).metadata().contains("refrain.schema");
  } catch (const Error&) {
    return false;
  }
}

void check_target(const MaterializeOptions& options, const Checkpoint& base) {
  const fs::path out(options.out), overlay = out / kOverlayName;
  std::error_code ignored;
  if (fs::equivalent(out, base.folder, ignored))
    misuse(options.out, "--out", "is the base checkpoint's folder, whose index would be lost; name another folder");
  const bool sealed = fs::exists(out / kProvenanceName, ignored), there = fs::exists(overlay, ignored);
  if (sealed && !options.force) misuse(options.out, "--out", "holds an overlay already; --force replaces it");
  if (sealed) return;
  if (there && !options.force && !unsealed_overlay(overlay.string()))
    misuse(overlay.string(), "--out", "is there already, and not by an interrupted run; --force replaces it");
  if (!there && fs::exists(out / kIndexName, ignored))
    misuse(options.out, "--out", "holds the index of another checkpoint; name another folder");
}

/// `path` as seen from the folder `from`, so that both can move together.
std::string seen_from(const std::string& from, const std::string& path) {
  // absolute: the canonical form of a relative path that is not there yet stays relative
  return fs::proximate(fs::weakly_canonical(fs::absolute(path)), fs::weakly_canonical(fs::absolute(from))).string();
}

void bind_base(const Checkpoint& base, const std::vector<CheckpointFile>& files, const MaterializeOptions& options,
               Provenance& provenance) {
  provenance.base = seen_from(options.out, base.folder);
  if (base.index) provenance.base_index = FileRef{kIndexName, base.index_bytes, base.index_sha256};
  for (const CheckpointFile& file : files)
    provenance.base_files.push_back(hash_file(file.content.file(), file.name, options.progress));
}

void bind_manifest(const Checkpoint& base, const MaterializeOptions& options, Provenance& provenance) {
  if (!options.source_manifest) return;
  const InputFile file(*options.source_manifest);
  std::map<std::string, std::string> known;
  for (const FileRef& ref : provenance.base_files) known[ref.path] = ref.sha256;
  if (provenance.base_index) known[kIndexName] = provenance.base_index->sha256;
  check_manifest(read_source_manifest(file), options.revision, known, base.folder, options.progress);
  provenance.source_manifest = hash_file(file, seen_from(options.out, *options.source_manifest), {});
}

void write(const MaterializeOptions& options, const Checkpoint& base, const OverlayPlan& plan, Provenance& provenance) {
  StagedFolder folder(options.out, {kOverlayName, kIndexName, kProvenanceName}, options.hook);
  check_target(options, base);  // again, now that no other run can write there
  const std::string overlay = write_safetensors(plan.tensors, overlay_metadata(provenance));
  provenance.overlay = {kOverlayName, overlay.size(), sha256_hex(overlay)};
  provenance.merged_index = {kIndexName, plan.merged_index.size(), sha256_hex(plan.merged_index)};
  folder.stage(kOverlayName, overlay);
  folder.stage(kIndexName, plan.merged_index);
  folder.stage(kProvenanceName, provenance_text(provenance));
  folder.commit();
}

}  // namespace

Provenance materialize_scales(const MaterializeOptions& options) {
  if (options.revision.empty()) misuse("", "--revision", "expected the checkpoint's revision, found nothing; give it");
  const Checkpoint base = open_checkpoint(options.base);
  check_target(options, base);
  const std::vector<CheckpointFile> files = open_files(base);
  const InputFile report(options.report);
  const Calibration calibration = read_calibration(report, options.rules);
  check_identity(calibration, options.report, options.revision, base);
  const OverlayPlan plan = plan_overlay(base, files, calibration, options.rules, options.report, kOverlayName);
  Provenance provenance;
  provenance.tool_version = options.tool_version;
  provenance.revision = options.revision;
  provenance.rules = options.rules;
  provenance.target = plan.target;
  provenance.draft = plan.draft;
  for (const auto& [name, value] : plan.tensors) provenance.tensors.push_back(name);
  provenance.report = hash_file(report, seen_from(options.out, options.report), {});
  bind_base(base, files, options, provenance);
  bind_manifest(base, options, provenance);
  write(options, base, plan, provenance);
  return provenance;
}

}  // namespace refrain
