// Traces of a server that never was, as large as wished: the same steps as an
// Nsight Systems export and as a trace of PyTorch's profiler. A step is a named
// range with a copy in, one replay whose kernels have rows of their own, a few eager
// kernels, a copy out and an event that the host waits for: a hundred rows.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace refrain::bench {

/// How often what is in a trace, by the words that every reader of it shares: `kernel NAME`, `copies`, `call NAME`.
using TraceCounts = std::map<std::string, std::uint64_t>;

inline constexpr std::uint64_t kRowsOfStep = 100;

/// Rows of the tables of calls, work and ranges: kRowsOfStep each step. Throws Error{input} when the disk is full.
void write_nsys(const std::string& path, std::uint64_t steps);
/// Ends with the first step that brings the file to that size; says how many those are.
[[nodiscard]] std::uint64_t write_kineto(const std::string& path, std::uint64_t bytes);

/// What either holds.
[[nodiscard]] TraceCounts counts_of_steps(std::uint64_t steps);

}  // namespace refrain::bench
