#include "kernels/mla_encode.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "kernels/codec.hpp"

namespace refrain {
namespace {

constexpr float kLargestE4m3 = 448.0f;
constexpr int kUe8m0Bias = 127, kLargestUe8m0 = 254;

void store_bf16(std::byte* to, std::span<const float> values) {
  for (std::size_t i = 0; i < values.size(); ++i)
    store_from_float(to, Dtype::bf16, static_cast<std::int64_t>(i), values[i]);
}

void store_codes(std::byte* to, std::span<const float> values, float scale) {
  for (std::size_t i = 0; i < values.size(); ++i) to[i] = static_cast<std::byte>(float_to_e4m3(values[i] / scale));
}

float scale_of(std::span<const float> values) {
  float largest = 0;
  for (const float value : values)
    if (std::isfinite(value)) largest = std::max(largest, std::fabs(value));
  return largest == 0 ? 1.0f : largest / kLargestE4m3;
}

/// The code of the smallest power of two that is no less than `scale`.
std::uint8_t ue8m0_up(float scale) {
  int exponent = 0;
  const float mantissa = std::frexp(scale, &exponent);  // in [0.5, 1)
  if (mantissa == 0.5f) --exponent;
  return static_cast<std::uint8_t>(std::clamp(exponent + kUe8m0Bias, 0, kLargestUe8m0));
}

/// A scale a `group` values, stored by `store(group number, its scale)`, which returns the scale as it was stored.
template <class Store>
void encode_groups(std::byte* to, std::span<const float> values, std::size_t group, Store store) {
  for (std::size_t first = 0; first < values.size(); first += group) {
    const auto of_group = values.subspan(first, group);
    store_codes(to + first, of_group, store(first / group, scale_of(of_group)));
  }
}

}  // namespace

void encode_mla_record(const MlaPoolView& pool, std::int64_t slot, std::span<const float> values) {
  assert(values.size() == static_cast<std::size_t>(pool.dim()) && slot >= 0 && slot < pool.slots());
  std::byte* record = pool.data + pool.record_offset(slot);
  if (pool.record == MlaRecord::bf16) return store_bf16(record, values);
  const auto nope = static_cast<std::size_t>(pool.nope());
  if (pool.record == MlaRecord::e4m3_656) {
    std::byte* scales = record + nope;
    encode_groups(record, values.first(nope), 128, [&](std::size_t group, float scale) {
      store_from_float(scales, Dtype::fp32, static_cast<std::int64_t>(group), scale);
      return scale;
    });
    return store_bf16(scales + 4 * sizeof(float), values.subspan(nope));
  }
  std::byte* scales = pool.data + pool.footer_offset(slot);
  encode_groups(record, values.first(nope), 64, [&](std::size_t group, float scale) {
    const std::uint8_t code = ue8m0_up(scale);
    scales[group] = static_cast<std::byte>(code);
    return ue8m0_to_float(code);
  });
  scales[7] = std::byte{0};
  store_bf16(record + nope, values.subspan(nope));
}

}  // namespace refrain
