#include "tests/runtime/scales_world.hpp"

#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <random>
#include <sstream>

#include "runtime/scales/materialize.hpp"
#include "tests/catch.hpp"

namespace refrain::test {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

std::string random_bytes(std::mt19937& random, std::size_t count) {
  std::string bytes(count, '\0');
  for (char& c : bytes) c = static_cast<char>(random());
  return bytes;
}

TestTensor weight(std::mt19937& random, const std::string& name) {
  return {name, "BF16", {8, 16}, random_bytes(random, 256)};
}

/// Attention in every fourth layer, a recurrent state in the others, as in a hybrid model.
std::vector<std::vector<TestTensor>> weights(std::mt19937& random, std::vector<std::uint32_t>& target_layers) {
  std::vector<std::vector<TestTensor>> files(3);
  files[0].push_back(weight(random, "model.embed_tokens.weight"));
  for (std::uint32_t layer = 0; layer < 48; ++layer) {
    const std::string name = "model.layers." + std::to_string(layer);
    std::vector<TestTensor>& file = files[layer / 16];
    if (layer % 4 != 3) {
      file.push_back(weight(random, name + ".linear_attn.in_proj.weight"));
      continue;
    }
    target_layers.push_back(layer);
    for (const char* part : {"q", "k", "v", "o"})
      file.push_back(weight(random, name + ".self_attn." + part + "_proj.weight"));
  }
  for (const char* part : {"q", "k", "v", "o"})
    files[2].push_back(weight(random, std::string("mtp.layers.0.self_attn.") + part + "_proj.weight"));
  return files;
}

std::string header_of(const std::vector<TestTensor>& tensors, const Json& metadata) {
  Json header = Json::object();
  if (!metadata.is_null()) header["__metadata__"] = metadata;
  std::uint64_t end = 0;
  for (const TestTensor& tensor : tensors) {
    header[tensor.name] = {
        {"dtype", tensor.dtype}, {"shape", tensor.shape}, {"data_offsets", {end, end + tensor.bytes.size()}}};
    end += tensor.bytes.size();
  }
  return header.dump();
}

}  // namespace

std::string safetensors_bytes(const std::string& header, const std::string& data) {
  std::string text;
  for (int i = 0; i < 8; ++i) text += static_cast<char>(static_cast<std::uint64_t>(header.size()) >> (8 * i));
  return text + header + data;
}

std::string safetensors_bytes(const std::vector<TestTensor>& tensors, const Json& metadata) {
  std::string data;
  for (const TestTensor& tensor : tensors) data += tensor.bytes;
  return safetensors_bytes(header_of(tensors, metadata), data);
}

TestTensor f32_scalar(const std::string& name, float value) {
  std::string bytes(4, '\0');
  std::memcpy(bytes.data(), &value, 4);
  return {name, "F32", {}, bytes};
}

std::map<std::string, float> read_f32_scalars(const fs::path& path) {
  const std::string bytes = read_bytes(path);
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data(), 8);
  const Json header = Json::parse(bytes.substr(8, length));
  std::map<std::string, float> scalars;
  for (const auto& [name, tensor] : header.items()) {
    if (name == "__metadata__") continue;
    REQUIRE(tensor.at("dtype") == "F32");
    std::memcpy(&scalars[name], bytes.data() + 8 + length + tensor.at("data_offsets").at(0).get<std::size_t>(), 4);
  }
  return scalars;
}

std::string read_bytes(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return std::move(text).str();
}

void write_bytes(const fs::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

void flip_byte(const fs::path& path, std::size_t at) {
  std::string bytes = read_bytes(path);
  REQUIRE(at < bytes.size());
  bytes[at] = static_cast<char>(bytes[at] ^ 1);
  write_bytes(path, bytes);
}

std::string sha256sum(const fs::path& path) {
  FILE* pipe = ::popen(("sha256sum < '" + path.string() + "'").c_str(), "r");
  REQUIRE(pipe != nullptr);
  std::array<char, 65> digest{};
  const bool read = std::fread(digest.data(), 1, 64, pipe) == 64;
  ::pclose(pipe);
  REQUIRE(read);
  return digest.data();
}

Json read_json_file(const fs::path& path) {
  return Json::parse(read_bytes(path));
}

void edit_json(const fs::path& path, const std::function<void(Json&)>& edit) {
  Json json = read_json_file(path);
  edit(json);
  write_bytes(path, json.dump(1));
}

TestFolder::TestFolder() {
  // Hundreds of syncs are tried here, each of which may wait for a disk.
  const fs::path memory = "/dev/shm";
  const bool writable = ::access(memory.c_str(), W_OK) == 0;
  std::string name = ((writable ? memory : fs::temp_directory_path()) / "refrain-scales-XXXXXX").string();
  REQUIRE(::mkdtemp(name.data()) != nullptr);
  path_ = name;
}

TestFolder::~TestFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

ScalesWorld::ScalesWorld(unsigned seed) {
  std::mt19937 random(seed);
  const auto files = weights(random, target_layers);
  fs::create_directory(base);
  Json map = Json::object(), hashes = Json::object();
  std::size_t total = 0;
  for (int i = 0; i < 3; ++i) {
    write_bytes(base_file(i), safetensors_bytes(files[i], {{"format", "pt"}}));
    hashes[base_file(i).filename().string()] = sha256sum(base_file(i));
    for (const TestTensor& tensor : files[i]) {
      map[tensor.name] = base_file(i).filename().string();
      total += tensor.bytes.size();
    }
  }
  write_bytes(base_index(), Json{{"metadata", {{"total_size", total}}}, {"weight_map", map}}.dump(2) + "\n");
  hashes[base_index().filename().string()] = sha256sum(base_index());
  write_bytes(manifest,
              Json{{"schema", "refrain.source-manifest/1"}, {"revision", revision}, {"files", hashes}}.dump(2));
  Json layers = Json::array();
  std::uniform_real_distribution<float> magnitude(0.5f, 200.0f);
  const auto calibrate = [&](const std::string& layer) {
    const float k = magnitude(random), v = magnitude(random) / 448.0f;
    layers.push_back({{"layer", layer}, {"k", {{"absmax", k}}}, {"v", {{"scale", v}}}});
    scales[layer + ".self_attn.k_scale"] = k / 448.0f;  // one fp32 division: correctly rounded, as the format asks
    scales[layer + ".self_attn.v_scale"] = v;
  };
  for (const std::uint32_t layer : target_layers) calibrate("model.layers." + std::to_string(layer));
  calibrate("mtp.layers.0");
  write_bytes(
      report,
      Json{{"schema", "refrain.calibration/1"}, {"checkpoint", {{"revision", revision}}}, {"layers", layers}}.dump(2));
}

fs::path ScalesWorld::base_file(int number) const {
  return base / ("model-0000" + std::to_string(number + 1) + "-of-00003.safetensors");
}

void ScalesWorld::materialize() const {
  (void)materialize_scales({.base = base.string(),
                            .report = report.string(),
                            .out = out.string(),
                            .revision = revision,
                            .source_manifest = manifest.string(),
                            .tool_version = "0.0.0-test"});
}

void ScalesWorld::replace_overlay(const std::map<std::string, float>& scalars) const {
  const std::string old = read_bytes(overlay());
  std::uint64_t length = 0;
  std::memcpy(&length, old.data(), 8);
  const Json metadata = Json::parse(old.substr(8, length)).at("__metadata__");
  std::vector<TestTensor> tensors;
  for (const auto& [name, value] : scalars) tensors.push_back(f32_scalar(name, value));
  write_bytes(overlay(), safetensors_bytes(tensors, metadata));
  reseal();
}

void ScalesWorld::reseal() const {
  edit_json(provenance(), [&](Json& json) {
    const auto seal = [](Json& ref, const fs::path& path) {
      ref["bytes"] = fs::file_size(path);
      ref["sha256"] = sha256sum(path);
    };
    seal(json["overlay"], overlay());
    seal(json["merged_index"], index());
    seal(json["report"], report);
    seal(json["source_manifest"], manifest);
    if (json["base"]["index"].is_object()) seal(json["base"]["index"], base_index());
    for (Json& file : json["base"]["files"]) seal(file, base / file["path"].get<std::string>());
  });
}

Caught caught(const std::function<void()>& act) {
  try {
    act();
  } catch (const Error& error) {
    return {true, error.kind(), error.what()};
  }
  return {};
}

void check_fails(const std::function<void()>& act, ErrorKind kind, std::initializer_list<std::string> words) {
  const Caught result = caught(act);
  INFO(result.line);
  CHECK(result.thrown);
  CHECK(result.kind == kind);
  CHECK(result.line.find('\n') == std::string::npos);
  for (const std::string& word : words) {
    INFO(word);
    CHECK(result.line.find(word) != std::string::npos);
  }
}

}  // namespace refrain::test
