// A step's outputs on the host, and how two of them are compared. NaN figures and
// errors are of the first tensor's real rows; bits are compared over all tensors and
// the whole bucket, pad rows included.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "runtime/driver.hpp"

namespace refrain {

/// One tensor that a step writes: [rows, heads, dim] row-major, of which the first `real_rows` are no pad rows.
struct OutputTensor {
  const char* name = "";
  Address address = 0;
  Dtype dtype = Dtype::fp16;
  std::int64_t rows = 0, real_rows = 0, heads = 1, dim = 1;

  [[nodiscard]] std::int64_t real_elements() const noexcept { return real_rows * heads * dim; }
  [[nodiscard]] std::uint64_t bytes() const noexcept {
    return static_cast<std::uint64_t>(rows * heads * dim) * dtype_bytes(dtype);
  }
};

struct Output {
  std::vector<OutputTensor> tensors;  ///< attention out first, then its LSE, then what else the step gives
  std::vector<std::vector<std::byte>> bytes;

  [[nodiscard]] const std::vector<std::byte>& out() const { return bytes[0]; }
  [[nodiscard]] std::span<const float> lse() const {
    return {reinterpret_cast<const float*>(bytes[1].data()), bytes[1].size() / sizeof(float)};
  }
};

/// Blocking. Throws Error{driver}.
[[nodiscard]] Output read_output(Driver& driver, const std::vector<OutputTensor>& tensors);
[[nodiscard]] bool same_bits(const Output& a, const Output& b);
/// Every element of the real rows.
[[nodiscard]] bool all_finite(const Output& output);

struct NanFigures {
  std::int64_t count = 0;
  std::vector<std::int32_t> dims, rows;
};
[[nodiscard]] NanFigures find_nans(const Output& output);

/// Largest |out - reference(i)| over finite differences, element i of the real rows; nothing when there is none.
[[nodiscard]] std::optional<double> max_abs_error(const Output& output,
                                                  const std::function<double(std::int64_t)>& reference);
[[nodiscard]] std::optional<double> max_abs_error(const Output& output, const Output& other);

}  // namespace refrain
