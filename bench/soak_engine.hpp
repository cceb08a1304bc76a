// The engine's row of the soak: a served model, random arrivals, for a given number of steps.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>

#include "runtime/driver.hpp"

namespace refrain::bench {

/// `every`: steps between two that are run once more eagerly and compared.
[[nodiscard]] nlohmann::ordered_json soak_engine(Driver& driver, std::int64_t steps, std::int64_t every);

}  // namespace refrain::bench
