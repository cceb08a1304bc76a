// The turns of rotary position embedding: a pair's angle in fp64 and in whole turns,
// so that taking off the integer part is exact, and only what is left is rounded to
// fp32. Which elements make a pair, and where they stand, is the op's.
#pragma once

#include <cstdint>

namespace refrain::device {

/// Turns of pair `i` from one token to the next. `octaves`: log2(theta) * 2 / rotary_dim.
[[nodiscard]] __device__ inline double turns_a_token(std::int32_t i, double octaves) {
  constexpr double kTurnsPerRadian = 0.15915494309189535;
  return exp2(-i * octaves) * kTurnsPerRadian;
}

/// Cosine and sine.
[[nodiscard]] __device__ inline float2 turn_of(double position, double turns_a_token) {
  const double turns = position * turns_a_token;
  float2 turn;
  sincospif(2.0f * static_cast<float>(turns - rint(turns)), &turn.y, &turn.x);
  return turn;
}

/// V pairs, each by its turn.
template <int V>
__device__ void rotate(float (&low)[V], float (&high)[V], const float2* turns) {
#pragma unroll
  for (int i = 0; i < V; ++i) {
    const float2 turn = turns[i];
    const float turned = low[i] * turn.x - high[i] * turn.y;
    high[i] = high[i] * turn.x + low[i] * turn.y;
    low[i] = turned;
  }
}

}  // namespace refrain::device
