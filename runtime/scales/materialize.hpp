// Writes an overlay of calibrated K/V scales for a checkpoint: the scales, an
// index that merges them with the base, and the provenance that seals both. The
// base is only read. Invariant: what is left after a failure or a kill is either
// the overlay that was there before, whole, or nothing that a reader accepts.
#pragma once

#include <optional>
#include <string>

#include "runtime/scales/provenance.hpp"
#include "runtime/scales/staged_folder.hpp"

namespace refrain {

struct MaterializeOptions {
  std::string base;    ///< folder, or one safetensors file
  std::string report;  ///< `refrain.calibration/1`
  std::string out;     ///< folder, made where it is missing; never the base's own
  std::string revision;
  std::optional<std::string> source_manifest = std::nullopt;
  ScaleRules rules = default_scale_rules();
  bool force = false;  ///< replace an overlay that is there
  std::string tool_version;
  HashProgress progress = nullptr;
  FileHook hook = nullptr;
};

/// Throws Error{refused} for inputs that do not hold together, Error{usage} for an overlay that is there already, and
/// Error{input} for what cannot be read or written.
Provenance materialize_scales(const MaterializeOptions& options);

}  // namespace refrain
