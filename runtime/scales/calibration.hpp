// A calibration report, `refrain.calibration/1`: for every layer with a KV cache
// the largest magnitude seen in K and in V, or the scale itself. scale = absmax /
// 448, the largest E4M3 number, divided in fp64 and rounded once to fp32.
//
//   {"schema": "refrain.calibration/1",
//    "checkpoint": {"revision": "4f1c...", "index_sha256": "9b..."},   one of the two, or both
//    "layers": [{"layer": "model.layers.3", "k": {"absmax": 31.5}, "v": {"scale": 0.0125}},
//               {"layer": "mtp.layers.0",   "k": {"absmax": 12.0}, "v": {"absmax": 4.5}}],
//    "notes": anything}
//
// Whether a layer is target or draft follows from its name, by the scale rules.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/scales/input_file.hpp"
#include "runtime/scales/scale_rules.hpp"

namespace refrain {

struct CalibratedLayer {
  std::string name;  ///< as in the report
  LayerMatch match;  ///< into the rules that it was read with
  float k = 1, v = 1;
};

struct Calibration {
  std::optional<std::string> revision, index_sha256;  ///< of the checkpoint that was calibrated
  std::vector<CalibratedLayer> layers;
};

/// Throws Error{input} for what is no report, Error{refused} for one that does not hold: a layer twice, without K or
/// V, with a scale that is not finite and positive, or of a name that no rule knows. `rules` must outlive the result.
[[nodiscard]] Calibration read_calibration(const InputFile& file, const ScaleRules& rules);

/// Throws Error{refused} unless `value` is finite and positive; -1 is named as what it means.
void check_scale(float value, const std::string& what, const std::string& file);

}  // namespace refrain
