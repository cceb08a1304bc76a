// What materialize refuses: reports, manifests, rules and checkpoints that do not
// hold together. Nothing is written then.
#include <functional>

#include "runtime/scales/load_scales.hpp"
#include "runtime/scales/materialize.hpp"
#include "runtime/scales/verify_scales.hpp"
#include "tests/catch.hpp"
#include "tests/runtime/scales_world.hpp"

using namespace refrain;
using namespace refrain::test;
using Json = nlohmann::json;
namespace fs = std::filesystem;

namespace {

void materialize_fails(const ScalesWorld& world, ErrorKind kind, std::initializer_list<std::string> words) {
  check_fails([&] { world.materialize(); }, kind, words);
  CHECK_FALSE(fs::exists(world.out));
}

void report_fails(const std::function<void(Json&)>& edit, ErrorKind kind, std::initializer_list<std::string> words) {
  const ScalesWorld world;
  edit_json(world.report, edit);
  materialize_fails(world, kind, words);
}

/// The manifest's hashes, made to fit the base as it is.
void renew_manifest(const ScalesWorld& world) {
  edit_json(world.manifest, [&](Json& json) {
    for (auto& [name, hash] : json["files"].items()) hash = sha256sum(world.base / name);
  });
}

Json draft_rules() {
  return Json::parse(R"({"schema": "refrain.scale-rules/1", "groups": [
    {"role": "target", "layer": "lm.{layer}", "k": "lm.{layer}.attn.ks", "v": "lm.{layer}.attn.vs"},
    {"role": "draft", "layer": "heads.{layer}.mtp", "k": "heads.{layer}.mtp.k_scale", "v": "heads.{layer}.mtp.v_scale",
     "attention": "heads.{layer}.mtp.qkv", "load_as": "lm.{layer}", "first": 12}]})");
}

}  // namespace

TEST_CASE("report: absmax is divided by 448 in fp64 and rounded once") {
  const ScalesWorld world;
  // 1e-3 is no fp32 number: rounded before the division it gives 2.2321429e-06 with other last bits.
  edit_json(world.report, [](Json& json) { json["layers"][0]["k"] = {{"absmax", 1e-3}}; });
  world.materialize();
  CHECK(read_f32_scalars(world.overlay()).at("model.layers.3.self_attn.k_scale") == static_cast<float>(1e-3L / 448.0L));
}

TEST_CASE("report: a layer that is missing or twice or unknown or not in the checkpoint is named") {
  report_fails([](Json& json) { json["layers"].erase(1); }, ErrorKind::refused,
               {"calibration.json", "target layer model.layers.7", "missing", "calibrate"});
  report_fails([](Json& json) { json["layers"].erase(12); }, ErrorKind::refused,
               {"draft layer mtp.layers.0", "missing"});
  report_fails([](Json& json) { json["layers"].push_back(json["layers"][4]); }, ErrorKind::refused,
               {"model.layers.19", "twice"});
  report_fails([](Json& json) { json["layers"][0]["layer"] = "blocks.3"; }, ErrorKind::refused,
               {"blocks.3", "scale rules", "--rules"});
  report_fails([](Json& json) { json["layers"][0]["layer"] = "model.layers.03"; }, ErrorKind::refused,
               {"model.layers.03", "scale rules"});
  report_fails(
      [](Json& json) {
        json["layers"].push_back(json["layers"][0]);
        json["layers"][13]["layer"] = "model.layers.4";
      },
      ErrorKind::refused, {"model.layers.4", "model.layers.4.self_attn.k_proj.weight", "remove it"});
}

TEST_CASE("report: draft K without V names the draft layer and V") {
  report_fails([](Json& json) { json["layers"][12].erase("v"); }, ErrorKind::refused,
               {"draft layer mtp.layers.0", "V", "found none"});
}

TEST_CASE("report: values that are no scale are named by layer and part") {
  const auto with = [](const char* key, const Json& value) {
    return [=](Json& json) { json["layers"][2]["v"] = {{key, value}}; };
  };
  for (const Json& value : {Json(0), Json(-3.5), Json(0.0), Json(1e300), Json(1e-300)}) {
    INFO(value);
    report_fails(with("absmax", value), ErrorKind::refused, {"target layer model.layers.11", "V", "above 0"});
    report_fails(with("scale", value), ErrorKind::refused, {"target layer model.layers.11", "V", "above 0"});
  }
  report_fails(with("scale", -1), ErrorKind::refused, {"never loaded"});
  report_fails(with("scale", "0.5"), ErrorKind::input, {"layers[2].v.scale", "a number"});
  report_fails(with("scale", nullptr), ErrorKind::input, {"layers[2].v.scale", "a number"});
  report_fails(with("max", 1), ErrorKind::input, {"layers[2].v", "max"});
  report_fails(
      [](Json& json) {
        json["layers"][2]["v"] = {{"absmax", 1}, {"scale", 1}};
      },
      ErrorKind::input, {"layers[2].v", "either"});
}

TEST_CASE("report: text that is no report is unreadable and says where") {
  const ScalesWorld world;
  for (const auto& [text, word] :
       {std::pair{"", "found nothing"}, std::pair{"{\"schema\":", "cut short"},
        std::pair{"{\"schema\":\"refrain.calibration/1\",\"schema\":\"x\"}", "twice"},
        std::pair{"{\"a\": NaN}", "byte"}, std::pair{"{\"a\": 1e999}", "no number type"}, std::pair{"[]", "an object"},
        std::pair{"{\"schema\":\"refrain.graph/1\"}", "refrain.calibration/1"}}) {
    INFO(text);
    write_bytes(world.report, text);
    materialize_fails(world, ErrorKind::input, {"calibration.json", word});
  }
  write_bytes(world.report, std::string(100'000, '['));
  materialize_fails(world, ErrorKind::input, {"calibration.json", "64 brackets"});
}

TEST_CASE("report: it must be for this revision and this index") {
  report_fails(
      [](Json& json) {
        json["checkpoint"] = {{"revision", "cafe"}};
      },
      ErrorKind::refused, {"checkpoint.revision", "4f1c0de5", "cafe"});
  report_fails(
      [](Json& json) {
        json["checkpoint"] = {{"index_sha256", std::string(64, 'b')}};
      },
      ErrorKind::refused, {"checkpoint.index_sha256", "bbbb"});
  report_fails([](Json& json) { json["checkpoint"] = Json::object(); }, ErrorKind::input,
               {"checkpoint", "revision or index_sha256"});
  const ScalesWorld world;
  edit_json(world.report, [&](Json& json) { json["checkpoint"] = {{"index_sha256", sha256sum(world.base_index())}}; });
  CHECK_NOTHROW(world.materialize());
}

TEST_CASE("manifest: a hash that differs or a file that it leaves out or that is gone is named") {
  const ScalesWorld world;
  flip_byte(world.base_file(0), fs::file_size(world.base_file(0)) - 1);
  materialize_fails(world, ErrorKind::refused, {"manifest.json", "model-00001-of-00003.safetensors", "SHA-256"});
  renew_manifest(world);
  edit_json(world.manifest, [](Json& json) { json["files"].erase("model-00003-of-00003.safetensors"); });
  materialize_fails(world, ErrorKind::refused, {"manifest.json", "model-00003-of-00003.safetensors", "no such entry"});
  const ScalesWorld other;
  edit_json(other.manifest, [](Json& json) { json["files"]["config.json"] = std::string(64, 'c'); });
  materialize_fails(other, ErrorKind::refused, {"config.json", "found none"});
  write_bytes(other.base / "config.json", "{}");
  materialize_fails(other, ErrorKind::refused, {"config.json", "expected SHA-256 cccc"});
  edit_json(other.manifest, [](Json& json) { json["revision"] = "cafe"; });
  materialize_fails(other, ErrorKind::refused, {"manifest.json", "revision", "cafe"});
}

TEST_CASE("checkpoint: a tensor in two files or not where the index says is named") {
  const ScalesWorld world;
  const TestTensor twice{"model.embed_tokens.weight", "BF16", {1}, "xx"};
  write_bytes(world.base / "model-00004.safetensors", safetensors_bytes({twice, {"x", "U8", {1}, "x"}}));
  edit_json(world.base_index(), [](Json& json) { json["weight_map"]["x"] = "model-00004.safetensors"; });
  materialize_fails(world, ErrorKind::refused, {"model.embed_tokens.weight", "duplicate"});
  const ScalesWorld other;
  edit_json(other.base_index(),
            [](Json& json) { json["weight_map"]["model.embed_tokens.weight"] = "model-00002-of-00003.safetensors"; });
  materialize_fails(other, ErrorKind::input, {"model.embed_tokens.weight", "model-00001-of-00003.safetensors"});
  edit_json(other.base_index(), [](Json& json) { json["weight_map"]["y"] = "../secret.safetensors"; });
  materialize_fails(other, ErrorKind::input, {"weight_map.y", "inside"});
}

TEST_CASE("checkpoint: scales that it brings itself are kept and not calibrated again") {
  const ScalesWorld world;
  write_bytes(world.base / "extra.safetensors",
              safetensors_bytes({f32_scalar("model.layers.3.self_attn.k_scale", 0.5f),
                                 f32_scalar("model.layers.3.self_attn.v_scale", 0.25f)}));
  edit_json(world.base_index(), [](Json& json) {
    for (const char* part : {"k", "v"})
      json["weight_map"][std::string("model.layers.3.self_attn.") + part + "_scale"] = "extra.safetensors";
  });
  edit_json(world.manifest, [](Json& json) { json["files"]["extra.safetensors"] = ""; });
  renew_manifest(world);
  materialize_fails(world, ErrorKind::refused, {"model.layers.3", "brings its own"});
  edit_json(world.report, [](Json& json) { json["layers"].erase(0); });
  world.materialize();
  CHECK(read_f32_scalars(world.overlay()).size() == 24);
  CHECK_NOTHROW(verify_scales(world.out.string()));
  const LoadedScales loaded = load_scales(world.out.string(), {world.target_layers, {}}, {.strict = true});
  CHECK(loaded.scales.layers.at(0).k.value == 0.5f);
  CHECK(loaded.scales.layers.at(1).k.value == world.scales.at("model.layers.7.self_attn.k_scale"));
}

TEST_CASE("checkpoint: its own folder is never written to and another checkpoint's index never replaced") {
  const ScalesWorld world;
  MaterializeOptions options{.base = world.base.string(),
                             .report = world.report.string(),
                             .out = world.base.string(),
                             .revision = world.revision,
                             .force = true,
                             .tool_version = "t"};
  check_fails([&] { materialize_scales(options); }, ErrorKind::usage, {"--out", "base checkpoint"});
  options.out = (world.folder.path() / "other").string();
  fs::create_directory(options.out);
  write_bytes(fs::path(options.out) / "model.safetensors.index.json", "{}");
  check_fails([&] { materialize_scales(options); }, ErrorKind::usage, {"--out", "index of another checkpoint"});
  CHECK(read_bytes(fs::path(options.out) / "model.safetensors.index.json") == "{}");
}

TEST_CASE("rules: a draft layer is found by its own names and loaded as the layer after the target's") {
  const TestFolder folder;
  const fs::path file = folder.path() / "model.safetensors", rules = folder.path() / "rules.json";
  std::vector<TestTensor> tensors;
  for (int layer = 0; layer < 12; ++layer)
    for (const char* part : {"ks", "vs"})
      tensors.push_back(f32_scalar("lm." + std::to_string(layer) + ".attn." + part, 0.5f));
  tensors.push_back(f32_scalar("heads.0.mtp.k_scale", 0.125f));
  tensors.push_back(f32_scalar("heads.0.mtp.v_scale", 0.0625f));
  write_bytes(file, safetensors_bytes(tensors));
  write_bytes(rules, draft_rules().dump());
  const LoadedScales loaded =
      load_scales(file.string(), LayersWanted::first(12, 1),
                  {.strict = true, .allow_draft_e4m3 = true, .rules = load_scale_rules(rules.string())});
  REQUIRE(loaded.scales.layers.size() == 13);
  const LayerScales& draft = loaded.scales.layers.back();
  CHECK(draft.role == LayerRole::draft);
  CHECK(draft.layer == 0);
  CHECK(draft.name == "heads.0.mtp");
  CHECK(draft.loaded_as == "lm.12");
  CHECK(draft.k.value == 0.125f);
  CHECK(draft.v.value == 0.0625f);
}

TEST_CASE("rules: two layers that load under one name are refused and a rule file that is none is unreadable") {
  const TestFolder folder;
  const fs::path rules = folder.path() / "rules.json", file = folder.path() / "model.safetensors";
  Json json = draft_rules();
  json["groups"][1]["first"] = 0;
  write_bytes(rules, json.dump());
  write_bytes(file, safetensors_bytes({f32_scalar("lm.0.attn.ks", 1), f32_scalar("heads.0.mtp.k_scale", 1)}));
  check_fails([&] { (void)find_scales(file.string(), {.rules = load_scale_rules(rules.string())}); },
              ErrorKind::refused, {"heads.0.mtp", "lm.0", "load_as"});
  const auto rules_fail = [&](const std::function<void(Json&)>& edit, std::initializer_list<std::string> words) {
    Json bad = draft_rules();
    edit(bad);
    write_bytes(rules, bad.dump());
    check_fails([&] { (void)load_scale_rules(rules.string()); }, ErrorKind::input, words);
  };
  rules_fail([](Json& bad) { bad["schema"] = "x"; }, {"schema", "refrain.scale-rules/1"});
  rules_fail([](Json& bad) { bad["groups"] = Json::array(); }, {"groups", "at least one"});
  rules_fail([](Json& bad) { bad["groups"][0]["role"] = "main"; }, {"groups[0].role", "draft"});
  rules_fail([](Json& bad) { bad["groups"][0]["k"] = "lm.k"; }, {"groups[0].k", "{layer}"});
  rules_fail([](Json& bad) { bad["groups"][0]["k"] = "{layer}.{layer}"; }, {"groups[0].k", "exactly once"});
  rules_fail([](Json& bad) { bad["groups"][0]["v"] = bad["groups"][0]["k"]; }, {"groups[0].v", "another name"});
  rules_fail([](Json& bad) { bad["groups"][0]["first"] = -1; }, {"groups[0].first"});
  rules_fail([](Json& bad) { bad["groups"][0].erase("layer"); }, {"groups[0]", "layer"});
}

TEST_CASE("rules: those that an overlay was made with go with it") {
  const ScalesWorld world;
  Json json = scale_rules_json(default_scale_rules());
  json["groups"][1]["load_as"] = "model.layers.{layer}";
  json["groups"][1]["first"] = 48;
  const fs::path rules = world.folder.path() / "rules.json";
  write_bytes(rules, json.dump());
  materialize_scales({.base = world.base.string(),
                      .report = world.report.string(),
                      .out = world.out.string(),
                      .revision = world.revision,
                      .rules = load_scale_rules(rules.string()),
                      .tool_version = "t"});
  fs::remove(rules);
  const LoadedScales loaded = load_scales(world.out.string(), {world.target_layers, {0}}, {.allow_draft_e4m3 = true});
  CHECK(loaded.scales.layers.back().loaded_as == "model.layers.48");
  CHECK_NOTHROW(verify_scales(world.out.string()));
}
