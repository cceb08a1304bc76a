#include "runtime/scales/checkpoint.hpp"

#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <set>

#include "graphs/error.hpp"
#include "graphs/json_view.hpp"
#include "runtime/scales/json_text.hpp"
#include "runtime/scales/sha256.hpp"

namespace refrain {
namespace {

namespace fs = std::filesystem;

Checkpoint single_file(const std::string& path) {
  const fs::path file(path);
  Checkpoint checkpoint;
  checkpoint.folder = file.has_parent_path() ? file.parent_path().string() : ".";
  checkpoint.files.push_back(file.filename().string());
  const SafetensorsFile content(path);
  for (const auto& [name, tensor] : content.tensors()) checkpoint.weight_map[name] = checkpoint.files.front();
  return checkpoint;
}

void check_place(const Checkpoint& checkpoint, const std::vector<CheckpointFile>& files) {
  std::map<std::string, std::string> holder;
  for (const CheckpointFile& file : files)
    for (const auto& [name, tensor] : file.content.tensors())
      if (const auto [first, fresh] = holder.emplace(name, file.name); !fresh)
        throw Error(ErrorKind::refused, name,
                    fmt::format("expected this tensor in one file, found a duplicate in {}; drop one of the two",
                                first->second),
                    file.content.file().path());
  for (const auto& [name, file] : checkpoint.weight_map)
    if (const auto found = holder.find(name); found == holder.end() || found->second != file)
      throw Error(ErrorKind::input, name,
                  fmt::format("expected this tensor, as {} says, found {}; fetch the checkpoint again", kIndexName,
                              found == holder.end() ? "none" : "it in " + found->second),
                  checkpoint.path_of(file));
}

/// Older tools wrote the total as a floating-point number.
std::optional<std::uint64_t> total_size(const nlohmann::json& index) {
  const auto metadata = index.find("metadata");
  if (metadata == index.end() || !metadata->is_object()) return std::nullopt;
  const auto total = metadata->find("total_size");
  if (total == metadata->end()) return std::nullopt;
  if (total->is_number_unsigned()) return total->get<std::uint64_t>();
  if (!total->is_number_float()) return std::nullopt;
  const auto value = total->get<double>();
  const bool whole = value >= 0 && value < 9007199254740992.0 && std::floor(value) == value;
  return whole ? std::optional(static_cast<std::uint64_t>(value)) : std::nullopt;
}

}  // namespace

std::string Checkpoint::path_of(const std::string& file) const {
  return (fs::path(folder) / file).string();
}

bool stays_inside(std::string_view name) {
  const fs::path path(name);
  if (name.empty() || path.is_absolute() || !path.has_filename()) return false;
  for (const fs::path& part : path)
    if (part == ".." || part == ".") return false;
  return true;
}

Checkpoint read_index(const std::string& path) {
  Checkpoint checkpoint;
  const fs::path file(path);
  checkpoint.folder = file.has_parent_path() ? file.parent_path().string() : ".";
  const std::string text = InputFile(path).read_all(kLongestJson);
  checkpoint.index = parse_json(text, path);
  checkpoint.index_sha256 = sha256_hex(text);
  checkpoint.index_bytes = text.size();
  const JsonView view(*checkpoint.index, path);
  std::set<std::string> files;
  view.need("weight_map").each_member([&](const std::string& tensor, const JsonView& value) {
    if (!stays_inside(value.text())) value.fail("a file inside the folder", "fetch the index again");
    checkpoint.weight_map[tensor] = value.text();
    files.insert(value.text());
  });
  if (files.empty()) view.need("weight_map").fail("at least one tensor", "fetch the index again");
  checkpoint.files.assign(files.begin(), files.end());
  return checkpoint;
}

Checkpoint open_checkpoint(const std::string& path) {
  std::error_code ignored;
  if (!fs::is_directory(path, ignored)) return single_file(path);
  const fs::path index = fs::path(path) / kIndexName, single = fs::path(path) / kSingleFileName;
  if (fs::exists(index, ignored)) return read_index(index.string());
  if (fs::exists(single, ignored)) return single_file(single.string());
  throw Error(ErrorKind::input, "reading",
              fmt::format("expected {} or {}, found neither; name a checkpoint's folder", kIndexName, kSingleFileName),
              path);
}

std::vector<CheckpointFile> open_files(const Checkpoint& checkpoint) {
  std::vector<CheckpointFile> files;
  for (const std::string& name : checkpoint.files) files.push_back({name, SafetensorsFile(checkpoint.path_of(name))});
  check_place(checkpoint, files);
  return files;
}

std::string merged_index(const Checkpoint& base, std::uint64_t data_bytes, const std::map<std::string, float>& overlay,
                         const std::string& overlay_file) {
  nlohmann::json index = base.index ? *base.index : nlohmann::json::object();
  const std::uint64_t total = total_size(index).value_or(data_bytes) + overlay.size() * sizeof(float);
  if (!index.contains("metadata") || !index["metadata"].is_object()) index["metadata"] = nlohmann::json::object();
  index["metadata"]["total_size"] = total;
  nlohmann::json& map = index["weight_map"] = base.weight_map;
  for (const auto& [name, value] : overlay) map[name] = overlay_file;
  return index.dump(2) + "\n";
}

}  // namespace refrain
