// A source manifest: which bytes the base checkpoint is said to consist of. It
// must name every checkpoint file and the index; what else it names (a config, a
// tokenizer) is held to its hash too.
//
//   {"schema": "refrain.source-manifest/1", "revision": "4f1c...",      revision may be absent
//    "files": {"model-00001-of-00002.safetensors": "<sha256>", "config.json": "<sha256>", ...}}
#pragma once

#include <map>
#include <optional>
#include <string>

#include "runtime/scales/input_file.hpp"

namespace refrain {

struct SourceManifest {
  std::string path;  ///< of the manifest itself
  std::optional<std::string> revision;
  std::map<std::string, std::string> files;  ///< name in the checkpoint's folder to SHA-256
};

/// Throws Error{input}.
[[nodiscard]] SourceManifest read_source_manifest(const InputFile& file);

/// `known`: the hashes of the checkpoint's files, which the manifest must all name; files of `folder` that it names
/// beyond them are hashed here. Throws Error{refused} that names the file that differs or is missing.
void check_manifest(const SourceManifest& manifest, const std::string& revision,
                    const std::map<std::string, std::string>& known, const std::string& folder,
                    const HashProgress& progress);

}  // namespace refrain
