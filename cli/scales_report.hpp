// What `refrain scales` prints: `refrain.scales/1` and the text form.
#pragma once

#include <string>

#include "runtime/scales/load_scales.hpp"

namespace refrain {

[[nodiscard]] std::string scales_json(const std::string& path, const LoadedScales& found);
[[nodiscard]] std::string scales_text(const std::string& path, const LoadedScales& found);

/// What was bound, in one line: `24 target and 2 draft scales, revision 4f1c, 3 base files`.
[[nodiscard]] std::string provenance_line(const Provenance& provenance);

}  // namespace refrain
