#include "runtime/scales/calibration.hpp"

#include <fmt/format.h>

#include <cmath>
#include <set>

#include "graphs/error.hpp"
#include "graphs/text.hpp"
#include "runtime/scales/json_text.hpp"
#include "runtime/scales/sha256.hpp"

namespace refrain {
namespace {

constexpr const char* kSchema = "refrain.calibration/1";
constexpr double kLargestE4m3 = 448.0;

[[noreturn]] void refuse(const std::string& file, const std::string& what, const std::string& sentence) {
  throw Error(ErrorKind::refused, what, sentence, file);
}

/// {"absmax": a} or {"scale": s}.
float read_scale(const JsonView& view, const std::string& what, const std::string& file) {
  view.check_object("a scale", {"absmax", "scale"});
  const auto absmax = view.find("absmax"), scale = view.find("scale");
  if (absmax.has_value() == scale.has_value()) view.fail("either absmax or scale", "give one of the two");
  const auto value = static_cast<float>(absmax ? absmax->number() / kLargestE4m3 : scale->number());
  check_scale(value, what, file);
  return value;
}

CalibratedLayer read_layer(const JsonView& view, const ScaleRules& rules, const std::string& file) {
  view.check_object("a layer", {"layer", "k", "v"});
  CalibratedLayer layer;
  layer.name = view.need("layer").text();
  const auto match = match_layer(rules, layer.name);
  if (!match)
    refuse(file, excerpt(layer.name),
           "expected a layer that the scale rules know, found another name; correct it, or give --rules");
  layer.match = *match;
  for (const ScalePart part : {ScalePart::k, ScalePart::v}) {
    const std::string what = fmt::format("{} layer {}, {}", to_string(match->group->role), layer.name, to_string(part));
    const auto scale = view.find(part == ScalePart::k ? "k" : "v");
    if (!scale) refuse(file, what, "expected a scale for K and one for V, found none; calibrate this layer again");
    (part == ScalePart::k ? layer.k : layer.v) = read_scale(*scale, what, file);
  }
  return layer;
}

void read_identity(const JsonView& view, Calibration& calibration) {
  view.check_object("a checkpoint", {"revision", "index_sha256"});
  if (const auto revision = view.find("revision")) calibration.revision = revision->text();
  if (const auto hash = view.find("index_sha256")) {
    if (!is_sha256(hash->text())) hash->fail("a SHA-256", "write 64 lower-case hexadecimal digits");
    calibration.index_sha256 = hash->text();
  }
  if (!calibration.revision && !calibration.index_sha256)
    view.fail("revision or index_sha256", "say which checkpoint was calibrated");
}

}  // namespace

Calibration read_calibration(const InputFile& file, const ScaleRules& rules) {
  const nlohmann::json root = read_json(file);
  const JsonView view(root, file.path());
  view.check_object("a calibration report", {"schema", "checkpoint", "layers", "notes"});
  if (view.need("schema").text() != kSchema)
    view.need("schema").fail(fmt::format("\"{}\"", kSchema), "give a calibration report");
  Calibration calibration;
  read_identity(view.need("checkpoint"), calibration);
  const JsonView layers = view.need("layers");
  std::set<std::string> seen;
  for (std::size_t i = 0; i < layers.array_size(); ++i) {
    calibration.layers.push_back(read_layer(layers.at(i), rules, file.path()));
    const std::string& name = calibration.layers.back().name;
    if (!seen.insert(name).second)
      refuse(file.path(), name, "expected every layer once, found this one twice; drop one of the two");
  }
  if (calibration.layers.empty()) layers.fail("at least one layer", "calibrate the checkpoint");
  return calibration;
}

void check_scale(float value, const std::string& what, const std::string& file) {
  if (std::isfinite(value) && value > 0) return;
  const std::string found = value == -1.0f ? "-1, the mark of a scale that was never loaded" : fmt::format("{}", value);
  refuse(file, what, fmt::format("expected a finite scale above 0, found {}; calibrate this layer again", found));
}

}  // namespace refrain
