// The capture-rules contract, run on one driver: every measured row, three modes,
// both threads. Failures are sentences; the GPU test calls it with its own driver.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "runtime/driver.hpp"

namespace refrain::test {

/// `leave_out` names rows that the driver cannot be asked, each for a reason that stands where it is passed.
[[nodiscard]] std::vector<std::string> contract_failures(Driver& driver,
                                                         const std::vector<std::string>& leave_out = {});
/// How many cells (row, mode, thread) the suite asks of a driver that leaves nothing out.
[[nodiscard]] std::size_t contract_cells();

}  // namespace refrain::test
