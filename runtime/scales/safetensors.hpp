// One safetensors file: its header, checked, and the values of single-element
// tensors. The format: a little-endian u64 with the header's length, the header
// as a JSON object {name: {dtype, shape, data_offsets: [begin, end]}}, then the
// data. Invariant: the tensors of an open file lie one after the other, without
// overlap or hole, and end where the file ends. Weights are never read.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "runtime/scales/input_file.hpp"

namespace refrain {

struct TensorInfo {
  std::string name, dtype;           ///< dtype as the format spells it: `F32`, `BF16`, `F8_E4M3`
  std::vector<std::uint64_t> shape;  ///< empty for a scalar
  std::uint64_t elements = 1;
  std::uint64_t begin = 0, end = 0;  ///< bytes, from the end of the header
};

class SafetensorsFile {
 public:
  /// Throws Error{input} that names the file, the tensor or byte, and what was expected there.
  explicit SafetensorsFile(const std::string& path);

  [[nodiscard]] const InputFile& file() const noexcept { return file_; }
  /// By name.
  [[nodiscard]] const std::map<std::string, TensorInfo>& tensors() const noexcept { return tensors_; }
  [[nodiscard]] const std::map<std::string, std::string>& metadata() const noexcept { return metadata_; }
  [[nodiscard]] std::uint64_t data_bytes() const noexcept { return file_.bytes() - data_begin_; }

  /// The value of a tensor with one F32, F16 or BF16 element, NaN and Inf too. Throws Error{input} for another kind
  /// of tensor, or none of that name.
  [[nodiscard]] float scalar(const std::string& name) const;

 private:
  InputFile file_;
  std::uint64_t data_begin_ = 0;
  std::map<std::string, TensorInfo> tensors_;
  std::map<std::string, std::string> metadata_;
};

/// A file of F32 scalars, as text for a file: names in order, data aligned to 8 bytes, the same bytes for the same
/// input. `metadata` becomes the header's `__metadata__`.
[[nodiscard]] std::string write_safetensors(const std::map<std::string, float>& scalars,
                                            const std::map<std::string, std::string>& metadata);

}  // namespace refrain
