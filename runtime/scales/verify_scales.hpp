// Whether a scale overlay still holds: every hash of its provenance computed
// again, and every value again from the calibration report. It reads the whole
// base checkpoint; load_scales is the quick check that a start of serving makes.
#pragma once

#include <optional>
#include <string>

#include "runtime/scales/provenance.hpp"

namespace refrain {

/// Where things lie now, where that is not what the provenance says.
struct VerifyScalesOptions {
  std::optional<std::string> base = std::nullopt, report = std::nullopt, source_manifest = std::nullopt;
  std::optional<std::string> revision = std::nullopt;  ///< what it must be
  HashProgress progress = nullptr;
};

/// Throws Error{refused} with the first thing that does not hold, and Error{input} for what cannot be read.
Provenance verify_scales(const std::string& overlay_folder, const VerifyScalesOptions& options = {});

/// The base checkpoint of an overlay, in the folder where it lies now.
[[nodiscard]] std::string base_folder(const Provenance& provenance, const std::string& overlay_folder,
                                      const std::optional<std::string>& moved_to);
/// The overlay's tensors are those that its provenance lists. Throws Error{refused}.
void check_tensor_list(const Provenance& provenance, const SafetensorsFile& overlay);

}  // namespace refrain
