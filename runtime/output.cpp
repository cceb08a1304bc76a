#include "runtime/output.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>

#include "kernels/codec.hpp"

namespace refrain {
namespace {

std::int64_t real_elements(const StepOptions& o) {
  return std::int64_t{o.rows} * kHeads * kHeadDim;
}

double element(const StepOptions& o, const Output& output, std::int64_t i) {
  return static_cast<double>(load_as_float(output.out.data(), o.q_dtype(), i));
}

}  // namespace

Output read_output(Driver& driver, const StepOptions& o, const OutputBuffers& from) {
  const auto row_heads = static_cast<std::size_t>(o.bucket_rows()) * kHeads;
  Output output{std::vector<std::byte>(row_heads * kHeadDim * dtype_bytes(o.q_dtype())), std::vector<float>(row_heads)};
  read_device(driver, output.out, from.out.address());
  read_device(driver, std::as_writable_bytes(std::span(output.lse)), from.lse.address());
  return output;
}

bool same_bits(const Output& a, const Output& b) {
  return a.out == b.out && std::memcmp(a.lse.data(), b.lse.data(), a.lse.size() * sizeof(float)) == 0;
}

bool all_finite(const StepOptions& o, const Output& output) {
  for (std::int64_t i = 0; i < real_elements(o); ++i)
    if (!std::isfinite(element(o, output, i))) return false;
  return true;
}

NanFigures find_nans(const StepOptions& o, const Output& output) {
  std::set<std::int32_t> dims, rows;
  NanFigures figures;
  for (std::int64_t i = 0; i < real_elements(o); ++i) {
    if (!std::isnan(element(o, output, i))) continue;
    ++figures.count;
    dims.insert(static_cast<std::int32_t>(i % kHeadDim));
    rows.insert(static_cast<std::int32_t>(i / (kHeads * kHeadDim)));
  }
  figures.dims.assign(dims.begin(), dims.end());
  figures.rows.assign(rows.begin(), rows.end());
  return figures;
}

std::optional<double> max_abs_error(const StepOptions& o, const Output& output,
                                    const std::function<double(std::int64_t)>& reference) {
  std::optional<double> worst;
  for (std::int64_t i = 0; i < real_elements(o); ++i) {
    const double error = std::abs(element(o, output, i) - reference(i));
    if (std::isfinite(error)) worst = std::max(worst.value_or(0.0), error);
  }
  return worst;
}

std::optional<double> max_abs_error(const StepOptions& o, const Output& output, const Output& other) {
  return max_abs_error(o, output, [&](std::int64_t i) { return element(o, other, i); });
}

}  // namespace refrain
