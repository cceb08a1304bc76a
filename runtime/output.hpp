// A step's output on the host, and how two of them are compared. NaN figures are
// over the real rows; bits are compared over the whole bucket, pad rows included.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

#include "runtime/steps/buffers.hpp"

namespace refrain {

struct Output {
  std::vector<std::byte> out;  ///< [bucket, heads, dim], q_dtype
  std::vector<float> lse;      ///< [bucket, heads]
};

/// Blocking. Throws Error{driver}.
[[nodiscard]] Output read_output(Driver& driver, const StepOptions& options, const OutputBuffers& from);
[[nodiscard]] bool same_bits(const Output& a, const Output& b);
/// Every element of the real rows.
[[nodiscard]] bool all_finite(const StepOptions& options, const Output& output);

struct NanFigures {
  std::int64_t count = 0;
  std::vector<std::int32_t> dims, rows;
};
[[nodiscard]] NanFigures find_nans(const StepOptions& options, const Output& output);

/// Largest |out - reference(i)| over finite differences, element i of the real rows; nothing when there is none.
[[nodiscard]] std::optional<double> max_abs_error(const StepOptions& options, const Output& output,
                                                  const std::function<double(std::int64_t)>& reference);
[[nodiscard]] std::optional<double> max_abs_error(const StepOptions& options, const Output& output,
                                                  const Output& other);

}  // namespace refrain
