// A generated checkpoint with its calibration report and source manifest, in a
// folder of its own, and ways to spoil them. Nothing here is made by the code under
// test: files are written byte by byte, hashes come from sha256sum.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "graphs/error.hpp"

namespace refrain::test {

struct TestTensor {
  std::string name, dtype;
  std::vector<std::uint64_t> shape;
  std::string bytes;
};

/// One tensor after the other, without padding between them.
[[nodiscard]] std::string safetensors_bytes(const std::vector<TestTensor>& tensors,
                                            const nlohmann::json& metadata = nullptr);
/// A header as given, and the data after it.
[[nodiscard]] std::string safetensors_bytes(const std::string& header, const std::string& data);
[[nodiscard]] TestTensor f32_scalar(const std::string& name, float value);
/// The F32 scalars of a file, by an own reading of the format.
[[nodiscard]] std::map<std::string, float> read_f32_scalars(const std::filesystem::path& path);

[[nodiscard]] std::string read_bytes(const std::filesystem::path& path);
void write_bytes(const std::filesystem::path& path, const std::string& bytes);
void flip_byte(const std::filesystem::path& path, std::size_t at);
[[nodiscard]] std::string sha256sum(const std::filesystem::path& path);
[[nodiscard]] nlohmann::json read_json_file(const std::filesystem::path& path);
/// Reads, changes and writes the file.
void edit_json(const std::filesystem::path& path, const std::function<void(nlohmann::json&)>& edit);

/// A folder that goes with this object.
class TestFolder {
 public:
  TestFolder();
  ~TestFolder();
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;
  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

 private:
  std::filesystem::path path_;
};

/// 12 target layers with attention (3, 7, ..., 47) and one draft layer: 24 + 2 scales, three files and an index.
struct ScalesWorld {
  TestFolder folder;
  std::filesystem::path base = folder.path() / "base", out = folder.path() / "overlay",
                        report = folder.path() / "calibration.json", manifest = folder.path() / "manifest.json";
  std::string revision = "4f1c0de5";
  std::vector<std::uint32_t> target_layers;
  std::map<std::string, float> scales;  ///< by tensor, as the overlay must hold them

  explicit ScalesWorld(unsigned seed = 1);
  [[nodiscard]] std::filesystem::path overlay() const { return out / "model-kvscales.safetensors"; }
  [[nodiscard]] std::filesystem::path index() const { return out / "model.safetensors.index.json"; }
  [[nodiscard]] std::filesystem::path provenance() const { return out / "kvscales.provenance.json"; }
  [[nodiscard]] std::filesystem::path base_file(int number) const;
  [[nodiscard]] std::filesystem::path base_index() const { return base / "model.safetensors.index.json"; }
  void materialize() const;  ///< with the manifest
  /// Writes the overlay anew with these scalars, and the provenance's hashes, lists and counts to fit.
  void replace_overlay(const std::map<std::string, float>& scalars) const;
  /// The hashes and lengths of the provenance, made to fit the files as they are.
  void reseal() const;
};

struct Caught {
  bool thrown = false;
  ErrorKind kind = ErrorKind::driver;
  std::string line;
};
/// What `act` throws, if it is an Error.
[[nodiscard]] Caught caught(const std::function<void()>& act);

/// An Error of this kind in one line that holds all of the words.
void check_fails(const std::function<void()>& act, ErrorKind kind, std::initializer_list<std::string> words);

}  // namespace refrain::test
