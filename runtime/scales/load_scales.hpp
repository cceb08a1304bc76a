// The K/V scales that a model is served with, from a checkpoint that brings them
// or from an overlay folder. What calibration gives is never guessed for a draft
// layer: its tokens are accepted by comparison with the target's, and a wrong
// scale shows as nothing but a low acceptance. A target layer may run at 1.0, said
// aloud. E4M3 KV with a draft is off unless the caller asks for it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/scales/provenance.hpp"
#include "runtime/scales/scale_set.hpp"

namespace refrain {

/// Layers with a KV cache, by their numbers in the checkpoint; in a hybrid model these are not 0, 1, 2, ...
struct LayersWanted {
  std::vector<std::uint32_t> target, draft;

  /// Layers 0 to target - 1, and 0 to draft - 1.
  [[nodiscard]] static LayersWanted first(std::uint32_t target, std::uint32_t draft);
};

struct LoadScalesOptions {
  bool strict = false;                             ///< a target layer without a scale is an error
  bool allow_draft_e4m3 = false;                   ///< admit E4M3 KV together with draft layers
  bool hash_base_files = false;                    ///< hash the whole base checkpoint too; else their lengths only
  std::optional<ScaleRules> rules = std::nullopt;  ///< else those of the overlay, else the default
  std::optional<std::string> base = std::nullopt;  ///< the overlay's base, where it has moved
  HashProgress progress = nullptr;
};

struct LoadedScales {
  ScaleSet scales;                       ///< the wanted layers, all of them, in order
  std::vector<std::string> warnings;     ///< a line for each scale that is 1.0 for want of a calibrated one
  std::optional<Provenance> provenance;  ///< of an overlay
};

/// What is there, whatever is wanted; layers may lack K or V. Checks an overlay's bindings: overlay, merged index and
/// base index by hash, base files by length, or hash where asked. Throws as load_scales does.
[[nodiscard]] LoadedScales find_scales(const std::string& path, const LoadScalesOptions& options = {});

/// What may be served of `found`: the policy alone, without a file. `source` is for messages. Throws Error{refused} as
/// load_scales does.
[[nodiscard]] LoadedScales admit_scales(LoadedScales found, const LayersWanted& wanted, const std::string& source,
                                        const LoadScalesOptions& options = {});

/// `path`: an overlay folder, a checkpoint folder, or one safetensors file. Draft scales of a checkpoint are left aside
/// where no draft layer is wanted. Throws Error{refused} for what does not hold: a binding, a value, a layer that is
/// missing or one too many, a draft without K and V, a draft that was not admitted; Error{input} for what cannot be
/// read. Reads files; not for use during capture.
[[nodiscard]] LoadedScales load_scales(const std::string& path, const LayersWanted& wanted,
                                       const LoadScalesOptions& options = {});

}  // namespace refrain
