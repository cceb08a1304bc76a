// Random weights: N(0, 1 / fan_in) for matrices, N(1, 0.1^2) for norms, drawn in the
// order of the calls from one generator, so that a seed is a model. (The normal
// distribution is the standard library's: another library may give another model.)
#pragma once

#include <cmath>
#include <random>
#include <vector>

#include "kernels/codec.hpp"
#include "runtime/transfer.hpp"

namespace refrain {

/// All of it blocks and throws Error{driver}; settle_writes() belongs behind the last call.
class WeightWriter {
 public:
  WeightWriter(Driver& driver, std::uint64_t seed) : driver_(driver), random_(seed) {}

  /// A row gives one sum of `fan_in` products.
  void matrix(const Lease& to, Dtype dtype, std::int64_t rows, std::int64_t fan_in) {
    write(to, dtype, rows * fan_in, 0, 1 / std::sqrt(static_cast<double>(fan_in)));
  }
  /// Rows are looked up, not multiplied.
  void table(const Lease& to, Dtype dtype, std::int64_t rows, std::int64_t width) {
    write(to, dtype, rows * width, 0, 1);
  }
  void norm(const Lease& to, Dtype dtype, std::int64_t width) { write(to, dtype, width, 1, 0.1); }

 private:
  void write(const Lease& to, Dtype dtype, std::int64_t count, double mean, double deviation) {
    std::normal_distribution<float> normal(static_cast<float>(mean), static_cast<float>(deviation));
    std::vector<std::byte> bytes(static_cast<std::size_t>(count) * dtype_bytes(dtype));
    for (std::int64_t i = 0; i < count; ++i) store_from_float(bytes.data(), dtype, i, normal(random_));
    write_device(driver_, to.address(), bytes);
  }

  Driver& driver_;
  std::mt19937_64 random_;
};

}  // namespace refrain
