// What mutation testing gave, as JSON and as text.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "audit/mutate/mutate.hpp"

namespace refrain::mutate {

/// `refrain.mutate/1` without its heading. Equivalent mutants are listed, so that a reader can judge them.
[[nodiscard]] nlohmann::ordered_json tally_json(const Tally& tally);
/// Counts by operator and by rule, then every mutant that was not dealt with as it should be. Ends in a newline.
[[nodiscard]] std::string tally_text(const Tally& tally);

}  // namespace refrain::mutate
