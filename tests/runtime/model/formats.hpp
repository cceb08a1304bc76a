// Number formats of the oracles' own, in fp64: what a dtype makes of a value, and what
// device memory holds.
#pragma once

#include <vector>

#include "runtime/arena.hpp"

namespace refrain::test {

/// To nearest, ties to even; subnormals too. fp16, bf16, or e4m3, which saturates.
[[nodiscard]] double rounded(double value, Dtype dtype);

/// `count` fp16 or bf16 values of a lease.
[[nodiscard]] std::vector<double> read_back(Driver& driver, const Lease& lease, Dtype dtype, std::int64_t count);

}  // namespace refrain::test
