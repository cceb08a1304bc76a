#include "runtime/steps/fills.hpp"

#include <random>
#include <vector>

#include "kernels/codec.hpp"
#include "runtime/transfer.hpp"

namespace refrain {
namespace {

std::vector<std::byte> pattern(std::uint64_t bytes, Fill fill, std::uint64_t seed) {
  std::vector<std::byte> out(bytes, fill == Fill::quiet_nan ? std::byte{0x7F} : std::byte{0xFF});
  if (fill == Fill::fp16_inf)
    for (std::uint64_t i = 0; i < bytes; ++i) out[i] = i % 2 == 0 ? std::byte{0x00} : std::byte{0x7C};
  if (fill == Fill::fp16_state) {
    std::mt19937_64 random(seed);
    std::normal_distribution<float> normal(0.0f, 1.0f);
    for (std::uint64_t i = 0; i + 1 < bytes; i += 2)
      store_from_float(out.data(), Dtype::fp16, static_cast<std::int64_t>(i / 2), normal(random));
  }
  return out;
}

}  // namespace

void fill_bytes(Driver& driver, Address to, std::uint64_t bytes, Fill fill) {
  write_device(driver, to, pattern(bytes, fill, to % 4096));
}

const char* to_string(Fill fill) noexcept {
  switch (fill) {
    case Fill::ones: return "0xFF";
    case Fill::quiet_nan: return "0x7F";
    case Fill::fp16_inf: return "fp16 Inf";
    case Fill::fp16_state: return "fp16 state";
    case Fill::int_max: return "INT_MAX";
    case Fill::stale_id: return "stale id";
  }
  return "";
}

}  // namespace refrain
