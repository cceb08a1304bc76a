// From a base checkpoint and a calibration report to the tensors of an overlay.
// `materialize` writes what this says and `verify` compares with it; it touches
// no overlay itself. Invariant: base and overlay together give every layer that
// has a KV cache K and V exactly once, and no other layer any.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "runtime/scales/calibration.hpp"
#include "runtime/scales/checkpoint.hpp"

namespace refrain {

struct OverlayPlan {
  std::map<std::string, float> tensors;
  std::uint64_t target = 0, draft = 0;  ///< scales, twice the layers
  std::string merged_index;             ///< the text of the file
};

/// `report` is the path for messages. Throws Error{refused} for a layer that is missing or that the checkpoint does
/// not have, and for a scale that the checkpoint has already.
[[nodiscard]] OverlayPlan plan_overlay(const Checkpoint& base, const std::vector<CheckpointFile>& files,
                                       const Calibration& calibration, const ScaleRules& rules,
                                       const std::string& report, const std::string& overlay_file);

/// The report was made for this checkpoint. Throws Error{refused}.
void check_identity(const Calibration& calibration, const std::string& report, const std::string& revision,
                    const Checkpoint& base);

}  // namespace refrain
