// A folder of safetensors files with `model.safetensors.index.json`, or one file
// alone: which tensor lies in which file. Opening reads the index only; files are
// opened by who needs them. Invariant: a file's name stays inside the folder.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/scales/safetensors.hpp"

namespace refrain {

inline constexpr const char* kIndexName = "model.safetensors.index.json";
inline constexpr const char* kSingleFileName = "model.safetensors";

struct Checkpoint {
  std::string folder;
  std::optional<nlohmann::json> index;  ///< nothing for one file alone
  std::string index_sha256;             ///< of the bytes that `index` was read from
  std::uint64_t index_bytes = 0;
  std::map<std::string, std::string> weight_map;  ///< tensor to file
  std::vector<std::string> files;                 ///< each once, in order

  [[nodiscard]] std::string path_of(const std::string& file) const;
};

/// `path` is a folder, or one safetensors file. Throws Error{input} for what is neither, and for a broken index.
[[nodiscard]] Checkpoint open_checkpoint(const std::string& path);
/// An index file with its name, whatever folder it lies in.
[[nodiscard]] Checkpoint read_index(const std::string& path);

/// A checkpoint file, open, under its name in the folder.
struct CheckpointFile {
  std::string name;
  SafetensorsFile content;
};

/// Every file of the checkpoint, checked against the index: each tensor lies where the index says, and in no other
/// file. Throws Error{input}, or Error{refused} for a tensor that two files hold.
[[nodiscard]] std::vector<CheckpointFile> open_files(const Checkpoint& checkpoint);

/// The index of the checkpoint with the overlay's tensors added, as the text of a file. `data_bytes` is the sum over
/// the checkpoint's files, used where the index has no total of its own.
[[nodiscard]] std::string merged_index(const Checkpoint& base, std::uint64_t data_bytes,
                                       const std::map<std::string, float>& overlay, const std::string& overlay_file);

/// A name without `..`, not absolute, not empty: it cannot lead out of its folder.
[[nodiscard]] bool stays_inside(std::string_view name);

}  // namespace refrain
