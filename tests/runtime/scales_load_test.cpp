// Which layers may run at 1.0, and which never.
#include "runtime/scales/load_scales.hpp"
#include "tests/catch.hpp"
#include "tests/runtime/scales_world.hpp"

using namespace refrain;
using namespace refrain::test;
namespace fs = std::filesystem;

namespace {

std::vector<TestTensor> scales_of(const std::string& layer) {
  return {f32_scalar(layer + ".self_attn.k_scale", 0.5f), f32_scalar(layer + ".self_attn.v_scale", 0.25f)};
}

/// A checkpoint of one file that holds these tensors.
struct OneFile {
  TestFolder folder;
  std::string path = (folder.path() / "model.safetensors").string();

  explicit OneFile(const std::vector<std::vector<TestTensor>>& layers) {
    std::vector<TestTensor> all;
    for (const auto& layer : layers) all.insert(all.end(), layer.begin(), layer.end());
    write_bytes(path, safetensors_bytes(all));
  }
};

}  // namespace

TEST_CASE("load: a target layer without scales runs at 1 and a warning names each tensor") {
  const OneFile file({scales_of("model.layers.0"), {f32_scalar("model.layers.1.self_attn.k_scale", 0.125f)}});
  const LoadedScales loaded = load_scales(file.path, LayersWanted::first(3, 0));
  REQUIRE(loaded.scales.layers.size() == 3);
  CHECK(loaded.scales.layers[1].k.value == 0.125f);
  CHECK(loaded.scales.layers[1].k.calibrated);
  for (const Scale& scale : {loaded.scales.layers[1].v, loaded.scales.layers[2].k, loaded.scales.layers[2].v}) {
    CHECK(scale.value == 1.0f);
    CHECK_FALSE(scale.calibrated);
  }
  REQUIRE(loaded.warnings.size() == 3);
  CHECK(loaded.warnings[0].find("model.layers.1.self_attn.v_scale") != std::string::npos);
  CHECK(loaded.warnings[1].find("model.layers.2.self_attn.k_scale") != std::string::npos);
  CHECK(loaded.warnings[2].find("model.layers.2.self_attn.v_scale") != std::string::npos);
  for (const std::string& warning : loaded.warnings) CHECK(warning.find("1.0 is used") != std::string::npos);
}

TEST_CASE("load: strict refuses what would run at 1") {
  const OneFile file({scales_of("model.layers.0"), {f32_scalar("model.layers.1.self_attn.k_scale", 0.125f)}});
  check_fails([&] { (void)load_scales(file.path, LayersWanted::first(2, 0), {.strict = true}); }, ErrorKind::refused,
              {"target layer model.layers.1", "no V", "model.layers.1.self_attn.v_scale", "calibrate"});
}

TEST_CASE("load: a draft layer without K and V is refused with strict or without") {
  const OneFile none({scales_of("model.layers.0")});
  const OneFile half({scales_of("model.layers.0"), {f32_scalar("mtp.layers.0.self_attn.k_scale", 0.5f)}});
  for (const bool strict : {false, true}) {
    const LoadScalesOptions options{.strict = strict, .allow_draft_e4m3 = true};
    check_fails([&] { (void)load_scales(none.path, LayersWanted::first(1, 1), options); }, ErrorKind::refused,
                {"draft layer mtp.layers.0", "no K", "mtp.layers.0.self_attn.k_scale", "calibrate the draft"});
    check_fails([&] { (void)load_scales(half.path, LayersWanted::first(1, 1), options); }, ErrorKind::refused,
                {"draft layer mtp.layers.0", "no V", "mtp.layers.0.self_attn.v_scale"});
  }
}

TEST_CASE("load: E4M3 with a draft must be asked for and a draft that nobody wants is left aside") {
  const OneFile file({scales_of("model.layers.0"), scales_of("mtp.layers.0")});
  check_fails([&] { (void)load_scales(file.path, LayersWanted::first(1, 1)); }, ErrorKind::refused,
              {"E4M3", "draft", "asked for"});
  CHECK(load_scales(file.path, LayersWanted::first(1, 1), {.allow_draft_e4m3 = true}).scales.layers.size() == 2);
  CHECK(load_scales(file.path, LayersWanted::first(1, 0)).scales.layers.size() == 1);
}

TEST_CASE("load: scales for a layer that the model has not are refused") {
  const OneFile file(
      {scales_of("model.layers.0"), scales_of("model.layers.5"), scales_of("mtp.layers.0"), scales_of("mtp.layers.1")});
  check_fails([&] { (void)load_scales(file.path, LayersWanted::first(1, 0)); }, ErrorKind::refused,
              {"target layer model.layers.5", "has not"});
  check_fails(
      [&] {
        (void)load_scales(file.path, {{0, 5}, {0}}, {.allow_draft_e4m3 = true});
      },
      ErrorKind::refused, {"draft layer mtp.layers.1", "has not"});
}

TEST_CASE("load: a scale of several elements or of integers is refused by name") {
  const OneFile rows({{{"model.layers.0.self_attn.k_scale", "F32", {2}, std::string(8, '\1')}}});
  check_fails([&] { (void)load_scales(rows.path, LayersWanted::first(1, 0)); }, ErrorKind::input,
              {"model.layers.0.self_attn.k_scale", "2 of F32"});
  const OneFile whole({{{"model.layers.0.self_attn.k_scale", "I32", {}, std::string(4, '\1')}}});
  check_fails([&] { (void)load_scales(whole.path, LayersWanted::first(1, 0)); }, ErrorKind::input,
              {"model.layers.0.self_attn.k_scale", "I32"});
}

TEST_CASE("load: a sentinel in a checkpoint is an error and not a fallback") {
  const OneFile file({{f32_scalar("model.layers.0.self_attn.k_scale", -1.0f)}});
  check_fails([&] { (void)load_scales(file.path, LayersWanted::first(1, 0)); }, ErrorKind::refused,
              {"model.layers.0.self_attn.k_scale", "never loaded"});
}

TEST_CASE("load: what is no checkpoint says so") {
  const TestFolder folder;
  const std::string path = folder.path().string();
  check_fails([&] { (void)load_scales(path, LayersWanted::first(1, 0)); }, ErrorKind::input,
              {path, "model.safetensors.index.json"});
  check_fails([&] { (void)load_scales(path + "/none", LayersWanted::first(1, 0)); }, ErrorKind::input,
              {"none", "No such file"});
  check_fails([&] { (void)load_scales("/dev/null", LayersWanted::first(1, 0)); }, ErrorKind::input,
              {"/dev/null", "regular file"});
}
