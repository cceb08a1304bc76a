// Calibrated scales in, an overlay out, the same scales back, and every hash as
// sha256sum has it.
#include <sys/stat.h>

#include <set>

#include "runtime/scales/load_scales.hpp"
#include "runtime/scales/materialize.hpp"
#include "runtime/scales/sha256.hpp"
#include "runtime/scales/verify_scales.hpp"
#include "tests/catch.hpp"
#include "tests/runtime/scales_world.hpp"

using namespace refrain;
using namespace refrain::test;
using Json = nlohmann::json;
namespace fs = std::filesystem;

namespace {

mode_t mode_of(const fs::path& path) {
  struct stat status {};
  REQUIRE(::stat(path.c_str(), &status) == 0);
  return status.st_mode & 07777;
}

MaterializeOptions options_for(const ScalesWorld& world) {
  return {.base = world.base.string(),
          .report = world.report.string(),
          .out = world.out.string(),
          .revision = world.revision,
          .tool_version = "0.0.0-test"};
}

}  // namespace

TEST_CASE("sha256: the examples of FIPS 180-4 and pieces that do not end where blocks do") {
  CHECK(sha256_hex("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(sha256_hex("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  Sha256 pieces;
  const std::string piece(7, 'a');
  for (int i = 0; i < 142'857; ++i) pieces.update(piece);
  pieces.update(std::string("a"));  // 7 x 142857 + 1 = a million
  CHECK(pieces.hex() == "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST_CASE("scales: 24 target and 2 draft scales come back bit for bit from the overlay") {
  const ScalesWorld world(7);
  REQUIRE(world.scales.size() == 26);
  world.materialize();
  CHECK(read_f32_scalars(world.overlay()) == world.scales);
  const LoadedScales loaded =
      load_scales(world.out.string(), {world.target_layers, {0}}, {.strict = true, .allow_draft_e4m3 = true});
  CHECK(loaded.warnings.empty());
  REQUIRE(loaded.scales.layers.size() == 13);
  for (const LayerScales& layer : loaded.scales.layers) {
    CHECK(layer.k.value == world.scales.at(layer.name + ".self_attn.k_scale"));
    CHECK(layer.v.value == world.scales.at(layer.name + ".self_attn.v_scale"));
    CHECK(layer.k.tensor == layer.name + ".self_attn.k_scale");
    CHECK(layer.k.calibrated);
    CHECK(layer.loaded_as == layer.name);
  }
  CHECK(loaded.scales.layers.front().name == "model.layers.3");
  CHECK(loaded.scales.layers.back().name == "mtp.layers.0");
  CHECK(loaded.scales.layers.back().role == LayerRole::draft);
}

TEST_CASE("scales: the provenance names every file that went in and came out by its SHA-256") {
  const ScalesWorld world;
  world.materialize();
  const Json p = read_json_file(world.provenance());
  CHECK(p.at("schema") == "refrain.kvscales/1");
  CHECK(p.at("tool").at("version") == "0.0.0-test");
  CHECK(p.at("revision") == world.revision);
  CHECK(p.at("scales").at("target") == 24);
  CHECK(p.at("scales").at("draft") == 2);
  CHECK(p.at("overlay").at("sha256") == sha256sum(world.overlay()));
  CHECK(p.at("merged_index").at("sha256") == sha256sum(world.index()));
  CHECK(p.at("report").at("sha256") == sha256sum(world.report));
  CHECK(p.at("source_manifest").at("sha256") == sha256sum(world.manifest));
  CHECK(p.at("base").at("index").at("sha256") == sha256sum(world.base_index()));
  CHECK(p.at("base").at("path") == "../base");  // both can move together
  REQUIRE(p.at("base").at("files").size() == 3);
  for (int i = 0; i < 3; ++i) {
    CHECK(p.at("base").at("files").at(i).at("sha256") == sha256sum(world.base_file(i)));
    CHECK(p.at("base").at("files").at(i).at("bytes") == fs::file_size(world.base_file(i)));
  }
  CHECK(verify_scales(world.out.string(), {.revision = world.revision}).target == 24);
}

TEST_CASE("scales: the merged index is the base's with the overlay's tensors and 4 bytes for each") {
  const ScalesWorld world;
  world.materialize();
  Json expected = read_json_file(world.base_index());
  for (const auto& [name, value] : world.scales) expected["weight_map"][name] = "model-kvscales.safetensors";
  expected["metadata"]["total_size"] = expected["metadata"]["total_size"].get<std::uint64_t>() + 26 * 4;
  CHECK(read_json_file(world.index()) == expected);
}

TEST_CASE("scales: files are 0644 and the folder 0755 under umask 077") {
  const ScalesWorld world;
  const mode_t before = ::umask(077);
  world.materialize();
  ::umask(before);
  for (const fs::path& path : {world.overlay(), world.index(), world.provenance()}) CHECK(mode_of(path) == 0644);
  CHECK(mode_of(world.out) == 0755);
}

TEST_CASE("scales: the same inputs give the same bytes and an overlay that is there is kept without force") {
  const ScalesWorld world;
  world.materialize();
  const std::string overlay = read_bytes(world.overlay()), provenance = read_bytes(world.provenance());
  check_fails([&] { world.materialize(); }, ErrorKind::usage, {"overlay", "--force"});
  MaterializeOptions options = options_for(world);
  options.source_manifest = world.manifest.string();
  options.force = true;
  materialize_scales(options);
  CHECK(read_bytes(world.overlay()) == overlay);
  CHECK(read_bytes(world.provenance()) == provenance);
}

TEST_CASE("scales: base and overlay may move together and apart when told") {
  const ScalesWorld world;
  world.materialize();
  const fs::path moved = world.folder.path() / "moved";
  fs::create_directory(moved);
  for (const char* name : {"base", "overlay", "calibration.json", "manifest.json"})
    fs::rename(world.folder.path() / name, moved / name);
  CHECK(verify_scales((moved / "overlay").string()).draft == 2);
  fs::rename(moved / "base", world.folder.path() / "elsewhere");
  check_fails([&] { verify_scales((moved / "overlay").string()); }, ErrorKind::refused, {"base index", "--base"});
  const std::string base = (world.folder.path() / "elsewhere").string();
  CHECK(verify_scales((moved / "overlay").string(), {.base = base}).draft == 2);
  CHECK(load_scales((moved / "overlay").string(), {world.target_layers, {}}, {.base = base}).warnings.empty());
}

TEST_CASE("scales: relative paths give the same provenance as absolute ones") {
  const ScalesWorld world;
  const fs::path before = fs::current_path();
  fs::current_path(world.folder.path());
  MaterializeOptions options = options_for(world);
  options.base = std::string("base");
  options.report = std::string("./calibration.json");
  options.out = std::string("overlay");
  const Caught result = caught([&] { materialize_scales(options); });
  fs::current_path(before);
  CHECK_FALSE(result.thrown);
  const Json p = read_json_file(world.provenance());
  CHECK(p.at("base").at("path") == "../base");
  CHECK(p.at("report").at("path") == "../calibration.json");
  CHECK_NOTHROW(verify_scales(world.out.string()));
}

TEST_CASE("scales: a checkpoint of one file without an index gets one") {
  const ScalesWorld world;
  const fs::path base = world.folder.path() / "single";
  fs::create_directory(base);
  write_bytes(base / "model.safetensors",
              safetensors_bytes({{"model.layers.0.self_attn.k_proj.weight", "F16", {2, 2}, std::string(8, 'w')}}));
  write_bytes(world.report,
              Json{{"schema", "refrain.calibration/1"},
                   {"checkpoint", {{"revision", "r"}}},
                   {"layers", {{{"layer", "model.layers.0"}, {"k", {{"scale", 0.5}}}, {"v", {{"absmax", 896}}}}}}}
                  .dump());
  MaterializeOptions options = options_for(world);
  options.revision = std::string("r");
  for (const fs::path& given : {base, base / "model.safetensors"}) {
    options.base = given.string();
    options.force = true;
    materialize_scales(options);
    CHECK(read_json_file(world.provenance()).at("base").at("index").is_null());
    const Json index = read_json_file(world.index());
    CHECK(index.at("metadata").at("total_size") == 8 + 2 * 4);
    CHECK(index.at("weight_map").at("model.layers.0.self_attn.k_proj.weight") == "model.safetensors");
    CHECK(index.at("weight_map").size() == 3);
    CHECK(verify_scales(world.out.string()).target == 2);
    const LoadedScales loaded = load_scales(world.out.string(), LayersWanted::first(1, 0), {.strict = true});
    CHECK(loaded.scales.layers.at(0).k.value == 0.5f);
    CHECK(loaded.scales.layers.at(0).v.value == 2.0f);  // 896 / 448
  }
}

TEST_CASE("scales: a checkpoint may bring its own scales in fp32 or fp16 or bf16") {
  const TestFolder folder;
  const fs::path file = folder.path() / "model.safetensors";
  const std::string fp16{"\x00\x38", 2}, bf16{"\x40\x3e", 2};  // 0x3800 = 0.5; 0x3e40 = 1.5 x 2^-3 = 0.1875
  write_bytes(file, safetensors_bytes({{"model.layers.0.self_attn.k_scale", "F16", {}, fp16},
                                       {"model.layers.0.self_attn.v_scale", "BF16", {1}, bf16},
                                       f32_scalar("model.layers.1.self_attn.k_scale", 0.1f),
                                       {"model.layers.1.self_attn.v_scale", "BF16", {1, 1}, bf16}}));
  for (const fs::path& path : {file, folder.path()}) {
    const LoadedScales loaded = load_scales(path.string(), LayersWanted::first(2, 0), {.strict = true});
    CHECK(loaded.scales.layers.at(0).k.value == 0.5f);
    CHECK(loaded.scales.layers.at(0).v.value == 0.1875f);
    CHECK(loaded.scales.layers.at(1).k.value == 0.1f);
    CHECK(loaded.scales.layers.at(1).v.value == 0.1875f);
    CHECK_FALSE(loaded.provenance.has_value());
  }
}

TEST_CASE("scales: the index of older tools has its total as a floating-point number") {
  const ScalesWorld world;
  std::uint64_t total = 0;
  edit_json(world.base_index(), [&](Json& json) {
    total = json["metadata"]["total_size"].get<std::uint64_t>();
    json["metadata"]["total_size"] = static_cast<double>(total);
    json["metadata"]["total_parameters"] = 5;
  });
  materialize_scales(options_for(world));
  const Json metadata = read_json_file(world.index()).at("metadata");
  CHECK(metadata.at("total_size") == total + 26 * 4);
  CHECK(metadata.at("total_parameters") == 5);
}
