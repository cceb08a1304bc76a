// The one way in: every rule over one subject. It reads data and touches no
// driver, so it runs wherever the data came to.
#pragma once

#include "audit/report.hpp"
#include "audit/subject.hpp"

namespace refrain {

/// Runs every rule of the table, in its order. Throws Error{input} for a graph with a cycle.
[[nodiscard]] Report audit(const Subject& subject);

}  // namespace refrain
