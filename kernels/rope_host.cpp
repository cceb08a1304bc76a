#include <cmath>
#include <vector>

#include "kernels/codec.hpp"
#include "kernels/host_twins.hpp"
#include "kernels/rope.hpp"
#include "kernels/row_count.hpp"

namespace refrain {
namespace {

struct Turn {
  float cos, sin;
};

/// Angles in fp64: a position of 2^20 leaves 32 bits behind the radian.
std::vector<Turn> turns_at(const RopeArgs& args, std::int64_t position) {
  std::vector<Turn> turns;
  for (std::int32_t i = 0; i < args.rotary_dim / 2; ++i) {
    const double angle = static_cast<double>(position) * std::pow(args.theta, -2.0 * i / args.rotary_dim);
    turns.push_back({static_cast<float>(std::cos(angle)), static_cast<float>(std::sin(angle))});
  }
  return turns;
}

void rotate_head(void* data, Dtype dtype, std::int64_t first, const std::vector<Turn>& turns) {
  const auto half = static_cast<std::int64_t>(turns.size());
  for (const Turn& turn : turns) {
    const float low = load_as_float(data, dtype, first), high = load_as_float(data, dtype, first + half);
    store_from_float(data, dtype, first, low * turn.cos - high * turn.sin);
    store_from_float(data, dtype, first + half, high * turn.cos + low * turn.sin);
    ++first;
  }
}

}  // namespace

void rope_host(const RopeArgs& args) {
  const std::int32_t rows = clamp_rows(*args.rows, args.bucket);
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::vector<Turn> turns = turns_at(args, args.query_pos[row]);
    for (std::int32_t head = 0; head < args.heads; ++head)
      rotate_head(args.q, args.dtype, (row * args.heads + head) * args.dim, turns);
    for (std::int32_t head = 0; head < args.kv_heads; ++head)
      rotate_head(args.k, args.dtype, (row * args.kv_heads + head) * args.dim, turns);
  }
}

}  // namespace refrain
