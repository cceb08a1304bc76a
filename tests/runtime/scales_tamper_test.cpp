// Every way to spoil an overlay or what it stands on, and the line that says so.
// Where an edit is followed by reseal(), the hashes fit again and only the values
// or the sets of layers can give it away.
#include <cmath>
#include <limits>

#include "runtime/scales/load_scales.hpp"
#include "runtime/scales/verify_scales.hpp"
#include "tests/catch.hpp"
#include "tests/runtime/scales_world.hpp"

using namespace refrain;
using namespace refrain::test;
using Json = nlohmann::json;
namespace fs = std::filesystem;

namespace {

using Words = std::initializer_list<std::string>;

void verify_fails(const ScalesWorld& world, ErrorKind kind, Words words) {
  check_fails([&] { verify_scales(world.out.string()); }, kind, words);
}

void load_fails(const ScalesWorld& world, ErrorKind kind, Words words, bool hash_base_files = false) {
  check_fails(
      [&] {
        (void)load_scales(world.out.string(), {world.target_layers, {0}},
                          {.allow_draft_e4m3 = true, .hash_base_files = hash_base_files});
      },
      kind, words);
}

void both_refuse(const ScalesWorld& world, Words words) {
  verify_fails(world, ErrorKind::refused, words);
  load_fails(world, ErrorKind::refused, words);
}

struct Sealed : ScalesWorld {
  Sealed() { materialize(); }
};

}  // namespace

TEST_CASE("tampering: an overlay that nobody touched verifies and loads") {
  const Sealed world;
  CHECK(verify_scales(world.out.string()).target == 24);
  CHECK_NOTHROW((void)load_scales(world.out.string(), {world.target_layers, {0}},
                                  {.strict = true, .allow_draft_e4m3 = true, .hash_base_files = true}));
}

TEST_CASE("tampering: one flipped bit anywhere in the overlay is seen") {
  const std::size_t bytes = [] {
    const Sealed world;
    return fs::file_size(world.overlay());
  }();
  for (const std::size_t at : {std::size_t{0}, std::size_t{8}, bytes / 2, bytes - 1}) {
    INFO(at);
    const Sealed world;
    flip_byte(world.overlay(), at);
    both_refuse(world, {"model-kvscales.safetensors", "overlay", "SHA-256", "materialize"});
  }
}

TEST_CASE("tampering: a flipped bit in a base file is seen by verify and by the loader when it hashes") {
  const Sealed world;
  flip_byte(world.base_file(1), fs::file_size(world.base_file(1)) - 1);
  const Words words{"model-00002-of-00003.safetensors", "base file", "SHA-256", "fetch"};
  verify_fails(world, ErrorKind::refused, words);
  load_fails(world, ErrorKind::refused, words, true);
}

TEST_CASE("tampering: a base file that is longer or gone is seen without hashing it") {
  for (const bool gone : {false, true}) {
    const Sealed world;
    if (gone)
      fs::remove(world.base_file(2));
    else
      write_bytes(world.base_file(2), read_bytes(world.base_file(2)) + "x");
    both_refuse(world, {"model-00003-of-00003.safetensors", "base file", gone ? "found none" : "bytes"});
  }
}

TEST_CASE("tampering: a flipped bit in the base index or the merged index is seen") {
  const Sealed world;
  flip_byte(world.base_index(), 40);
  both_refuse(world, {"base/model.safetensors.index.json", "base index", "SHA-256"});
  const Sealed other;
  flip_byte(other.index(), 40);
  both_refuse(other, {"overlay/model.safetensors.index.json", "merged index", "SHA-256"});
}

TEST_CASE("tampering: a flipped bit in the report or the manifest is seen by verify") {
  const Sealed world;
  flip_byte(world.report, 90);
  verify_fails(world, ErrorKind::refused, {"calibration.json", "calibration report", "SHA-256"});
  const Sealed other;
  flip_byte(other.manifest, 90);
  verify_fails(other, ErrorKind::refused, {"manifest.json", "source manifest", "SHA-256"});
}

TEST_CASE("tampering: another revision is refused when asked for and when edited into the provenance") {
  const Sealed world;
  check_fails([&] { verify_scales(world.out.string(), {.revision = "cafe"}); }, ErrorKind::refused,
              {"revision", "cafe", world.revision});
  edit_json(world.provenance(), [](Json& json) { json["revision"] = "cafe"; });
  verify_fails(world, ErrorKind::refused, {"revision", "cafe", world.revision});
}

TEST_CASE("tampering: a hash edited into the provenance does not fit its file") {
  for (const char* file : {"overlay", "merged_index", "report", "source_manifest"}) {
    INFO(file);
    const Sealed world;
    edit_json(world.provenance(), [&](Json& json) { json[file]["sha256"] = std::string(64, 'a'); });
    verify_fails(world, ErrorKind::refused, {"expected SHA-256 aaaa"});
  }
}

TEST_CASE("tampering: no provenance is no overlay") {
  const Sealed world;
  fs::remove(world.provenance());
  verify_fails(world, ErrorKind::input, {"kvscales.provenance.json", "no such file", "materialize"});
  load_fails(world, ErrorKind::input, {"kvscales.provenance.json", "no such file", "materialize"});
  fs::remove(world.overlay());  // and an index alone that names an overlay is none either
  load_fails(world, ErrorKind::refused, {"model-kvscales.safetensors", "kvscales.provenance.json", "materialize"});
}

TEST_CASE("tampering: a provenance that is cut short or of another schema or with a strange key is unreadable") {
  const Sealed world;
  const std::string whole = read_bytes(world.provenance());
  write_bytes(world.provenance(), whole.substr(0, whole.size() / 2));
  verify_fails(world, ErrorKind::input, {"kvscales.provenance.json", "cut short"});
  write_bytes(world.provenance(), whole);
  edit_json(world.provenance(), [](Json& json) { json["schema"] = "refrain.kvscales/2"; });
  verify_fails(world, ErrorKind::input, {"schema", "refrain.kvscales/1"});
  write_bytes(world.provenance(), whole);
  edit_json(world.provenance(), [](Json& json) { json["extra"] = 1; });
  verify_fails(world, ErrorKind::input, {"extra"});
  write_bytes(world.provenance(), whole);
  edit_json(world.provenance(), [](Json& json) { json["base"]["files"][0]["path"] = "../../etc/passwd"; });
  verify_fails(world, ErrorKind::input, {"files[0].path", "inside"});
}

TEST_CASE("tampering: a scale that is NaN or infinite or zero or negative or never loaded is named") {
  const struct {
    float value;
    const char* word;
  } values[] = {{std::nanf(""), "nan"},
                {std::numeric_limits<float>::infinity(), "inf"},
                {0.0f, "found 0"},
                {-0.25f, "-0.25"},
                {-1.0f, "never loaded"}};
  for (const auto& [value, word] : values) {
    INFO(word);
    const Sealed world;
    auto scalars = world.scales;
    scalars["model.layers.7.self_attn.v_scale"] = value;
    world.replace_overlay(scalars);
    both_refuse(world, {"model.layers.7.self_attn.v_scale", "finite scale above 0", word, "calibrate"});
  }
}

TEST_CASE("tampering: a scale of another value than the report's is seen however well sealed") {
  const Sealed world;
  auto scalars = world.scales;
  float& value = scalars["model.layers.7.self_attn.k_scale"];
  value = std::nextafter(value, 1e9f);
  world.replace_overlay(scalars);
  verify_fails(world, ErrorKind::refused, {"model.layers.7.self_attn.k_scale", "as the report gives"});
}

TEST_CASE("tampering: a layer that is missing or one too many in the overlay is named") {
  const Sealed world;
  auto scalars = world.scales;
  scalars.erase("model.layers.11.self_attn.k_scale");
  world.replace_overlay(scalars);
  both_refuse(world, {"model.layers.11.self_attn.k_scale", "found none"});
  scalars = world.scales;
  scalars["model.layers.12.self_attn.k_scale"] = 0.5f;
  world.replace_overlay(scalars);
  both_refuse(world, {"model.layers.12.self_attn.k_scale", "one more"});
}

TEST_CASE("tampering: a list of the provenance that was cut with the overlay is seen against the report") {
  const Sealed world;
  auto scalars = world.scales;
  scalars.erase("mtp.layers.0.self_attn.v_scale");
  world.replace_overlay(scalars);
  edit_json(world.index(), [](Json& json) { json["weight_map"].erase("mtp.layers.0.self_attn.v_scale"); });
  edit_json(world.provenance(), [](Json& json) {
    json["scales"]["tensors"].erase(25);
    json["scales"]["draft"] = 1;
  });
  world.reseal();
  verify_fails(world, ErrorKind::refused, {"mtp.layers.0.self_attn.v_scale", "found none"});
  load_fails(world, ErrorKind::refused, {"draft layer mtp.layers.0", "no V", "mtp.layers.0.self_attn.v_scale"});
}

TEST_CASE("tampering: an overlay's tensor twice or cut short or with a length beyond its end is unreadable") {
  const Sealed world;
  const std::string whole = read_bytes(world.overlay());
  std::string twice = R"({"a":{"dtype":"F32","shape":[],"data_offsets":[0,4]},)"
                      R"("a":{"dtype":"F32","shape":[],"data_offsets":[4,8]}})";
  write_bytes(world.overlay(), safetensors_bytes(twice, std::string(8, '\1')));
  world.reseal();
  verify_fails(world, ErrorKind::input, {"model-kvscales.safetensors", "\"a\" twice"});
  write_bytes(world.overlay(), whole.substr(0, whole.size() - 4));
  world.reseal();
  verify_fails(world, ErrorKind::input, {"model-kvscales.safetensors", "length", "cut short"});
  std::string beyond = whole;
  beyond[3] = 1;  // 16 MB of header
  write_bytes(world.overlay(), beyond);
  world.reseal();
  verify_fails(world, ErrorKind::input, {"model-kvscales.safetensors", "header length", "cut short"});
}

TEST_CASE("tampering: a merged index that leads a weight elsewhere is seen however well sealed") {
  const Sealed world;
  edit_json(world.index(),
            [](Json& json) { json["weight_map"]["model.embed_tokens.weight"] = "model-00002-of-00003.safetensors"; });
  world.reseal();
  verify_fails(world, ErrorKind::refused, {"merged index", "found another"});
}

TEST_CASE("tampering: a manifest that disowns the base is seen however well sealed") {
  const Sealed world;
  edit_json(world.manifest,
            [](Json& json) { json["files"]["model-00002-of-00003.safetensors"] = std::string(64, 'd'); });
  world.reseal();
  verify_fails(world, ErrorKind::refused, {"manifest.json", "model-00002-of-00003.safetensors", "dddd"});
}

TEST_CASE("tampering: counts of the provenance that are not those of the overlay are seen") {
  const Sealed world;
  edit_json(world.provenance(), [](Json& json) { json["scales"]["draft"] = 4; });
  verify_fails(world, ErrorKind::refused, {"scales", "24 target and 2 draft", "24 and 4"});
}

TEST_CASE("tampering: a base that was exchanged with its hashes no longer fits the overlay's own binding") {
  const Sealed world;
  edit_json(world.base_index(), [](Json& json) { json["metadata"]["note"] = "another"; });
  edit_json(world.manifest,
            [&](Json& json) { json["files"]["model.safetensors.index.json"] = sha256sum(world.base_index()); });
  world.reseal();
  verify_fails(world, ErrorKind::refused, {"refrain.base_index_sha256"});
}
