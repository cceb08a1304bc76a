// One contract of a contract file, from JSON: all checks of its own fields.
#pragma once

#include "audit/contracts/contract_file.hpp"
#include "graphs/json_view.hpp"

namespace refrain {

/// Throws Error{input} at the field that does not hold.
[[nodiscard]] KernelContract read_kernel_contract(const JsonView& view);

}  // namespace refrain
