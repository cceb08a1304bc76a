#include "runtime/output.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "kernels/codec.hpp"
#include "runtime/transfer.hpp"

namespace refrain {
namespace {

double element(const Output& output, std::int64_t i) {
  return static_cast<double>(load_as_float(output.out().data(), output.tensors.front().dtype, i));
}

}  // namespace

Output read_output(Driver& driver, const std::vector<OutputTensor>& tensors) {
  Output output{tensors, {}};
  for (const OutputTensor& tensor : tensors)
    read_device(driver, output.bytes.emplace_back(tensor.bytes()), tensor.address);
  return output;
}

bool same_bits(const Output& a, const Output& b) {
  return a.bytes == b.bytes;
}

bool all_finite(const Output& output) {
  for (std::int64_t i = 0; i < output.tensors.front().real_elements(); ++i)
    if (!std::isfinite(element(output, i))) return false;
  return true;
}

NanFigures find_nans(const Output& output) {
  const OutputTensor& tensor = output.tensors.front();
  std::set<std::int32_t> dims, rows;
  NanFigures figures;
  for (std::int64_t i = 0; i < tensor.real_elements(); ++i) {
    if (!std::isnan(element(output, i))) continue;
    ++figures.count;
    dims.insert(static_cast<std::int32_t>(i % tensor.dim));
    rows.insert(static_cast<std::int32_t>(i / (tensor.heads * tensor.dim)));
  }
  figures.dims.assign(dims.begin(), dims.end());
  figures.rows.assign(rows.begin(), rows.end());
  return figures;
}

std::optional<double> max_abs_error(const Output& output, const std::function<double(std::int64_t)>& reference) {
  std::optional<double> worst;
  for (std::int64_t i = 0; i < output.tensors.front().real_elements(); ++i) {
    const double error = std::abs(element(output, i) - reference(i));
    if (std::isfinite(error)) worst = std::max(worst.value_or(0.0), error);
  }
  return worst;
}

std::optional<double> max_abs_error(const Output& output, const Output& other) {
  return max_abs_error(output, [&](std::int64_t i) { return element(other, i); });
}

}  // namespace refrain
