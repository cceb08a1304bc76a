// What an overlay of K/V scales was made from, `kvscales.provenance.json`, schema
// `refrain.kvscales/1`: SHA-256 and length of every file that went in and came
// out, the revision, the scale rules. It is written last and seals the overlay:
// an overlay without it, or that differs from it, is refused by every reader.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/scales/checkpoint.hpp"
#include "runtime/scales/scale_rules.hpp"

namespace refrain {

inline constexpr const char* kOverlayName = "model-kvscales.safetensors";
inline constexpr const char* kProvenanceName = "kvscales.provenance.json";
inline constexpr const char* kProvenanceSchema = "refrain.kvscales/1";

struct FileRef {
  std::string path;  ///< base files: from the base folder; all others: from the overlay's folder
  std::uint64_t bytes = 0;
  std::string sha256;
};

struct Provenance {
  std::string tool_version, revision;
  std::string base;                   ///< the base checkpoint's folder, from the overlay's folder
  std::optional<FileRef> base_index;  ///< nothing for a checkpoint of one file without an index
  std::vector<FileRef> base_files;
  FileRef report;
  std::optional<FileRef> source_manifest;
  FileRef overlay, merged_index;
  std::vector<std::string> tensors;     ///< of the overlay, in order
  std::uint64_t target = 0, draft = 0;  ///< scales of the overlay: twice its layers
  ScaleRules rules;
};

[[nodiscard]] std::string provenance_text(const Provenance& provenance);
/// Throws Error{input}; a file that is missing is named as what it means.
[[nodiscard]] Provenance load_provenance(const std::string& overlay_folder);

/// The overlay's `__metadata__`: the same bindings once more, so that a sealed overlay contradicts a seal that was
/// edited, and a file that stands alone says whose it is.
[[nodiscard]] std::map<std::string, std::string> overlay_metadata(const Provenance& provenance);

[[nodiscard]] FileRef hash_file(const InputFile& file, const std::string& path, const HashProgress& progress);

enum class BindingCheck : std::uint8_t { size, hash };
/// The file at `path` is the one that was bound. Throws Error{refused}: `path: what: expected ..., found ...; advice`.
void check_bound(const FileRef& bound, const std::string& path, const std::string& what, const std::string& advice,
                 BindingCheck check = BindingCheck::hash, const HashProgress& progress = {});

}  // namespace refrain
