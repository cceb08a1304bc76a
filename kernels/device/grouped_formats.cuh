// How a K/V tile lies in shared memory and becomes MMA fragments, once for 16-bit
// caches and once for E4M3. Rows are 16-byte chunks, permuted so that no read has
// bank conflicts. An E4M3 chunk feeds several fragments at once, so the dims of Q
// and of the sums are permuted with it; the order of a dot product is all that changes.
//
// Fragment names as in mma.cuh: lane (g, t). `half` is the warp's half of the
// tokens in `scores` and of the dims in everything about V.
#pragma once

#include <cstdint>

#include "kernels/device/grouped_instructions.cuh"
#include "kernels/device/grouped_shape.cuh"
#include "kernels/device/mma.cuh"

namespace refrain::grouped {

inline constexpr int kSteps = kDim / 16;
inline constexpr int kWarpTiles = kDim / 16;  ///< of 8 columns: this warp's 128 dims
using Sums = float[kWarpTiles][4];

/// A thread's A fragments of Q for the whole group: the last kParkedSteps lie in shared memory, since with all of
/// them in registers the compiler would pick what to spill.
template <int kParkedSteps>
struct Queries {
  std::uint32_t held[kSteps - kParkedSteps][4];
  std::uint32_t parked;  ///< shared address of the thread's first parked step

  __device__ void put(int step, std::uint32_t a0, std::uint32_t a1, std::uint32_t a2, std::uint32_t a3) {
    if (step < kSteps - kParkedSteps) {
      held[step][0] = a0, held[step][1] = a1, held[step][2] = a2, held[step][3] = a3;
    } else {
      const std::uint32_t to = parked + 16 * kThreads * (step - (kSteps - kParkedSteps));
      store_shared16(to, {a0, a1, a2, a3});
    }
  }

  __device__ void get(int step, std::uint32_t (&a)[4]) const {
    if (step < kSteps - kParkedSteps) {
#pragma unroll
      for (int i = 0; i < 4; ++i) a[i] = held[step][i];
    } else {
      const uint4 four = load_shared16(parked + 16 * kThreads * (step - (kSteps - kParkedSteps)));
      a[0] = four.x, a[1] = four.y, a[2] = four.z, a[3] = four.w;
    }
  }
};

/// 16-bit cache, multiplied as it is; fragments come through ldmatrix.
template <bool kBf16>
struct Wide {
  static constexpr bool kIsBf16 = kBf16;
  static constexpr int kElementBytes = 2, kRowBytes = 2 * kDim, kStages = 3, kParkedSteps = 2;
  static constexpr std::uint32_t kExponents = kBf16 ? 0x7F807F80u : 0x7C007C00u;

  __device__ static std::uint32_t k_chunk(int row, int chunk) { return static_cast<std::uint32_t>(chunk ^ (row & 7)); }
  __device__ static std::uint32_t v_chunk(int row, int chunk) { return k_chunk(row, chunk); }

  /// `row`: the Q row of lane row g, `other` of g + 8.
  __device__ static void load_queries(const std::uint16_t* row, const std::uint16_t* other, const Place& place,
                                      Queries<kParkedSteps>& q) {
#pragma unroll
    for (int k = 0; k < kDim / 16; ++k) {
      const int dim = 16 * k + 2 * place.t;
      const auto at = [](const std::uint16_t* pair) { return *reinterpret_cast<const std::uint32_t*>(pair); };
      q.put(k, at(row + dim), at(other + dim), at(row + dim + 8), at(other + dim + 8));
    }
  }

  __device__ static void scores(float (&s)[2][4], const Queries<kParkedSteps>& q, std::uint32_t k_plane,
                                const Place& place) {
    const int matrix = place.lane / 8, row = 16 * place.half + 8 * (matrix / 2) + place.lane % 8;
    const std::uint32_t from = k_plane + row * kRowBytes + 16 * k_chunk(row, matrix % 2);
#pragma unroll
    for (int k = 0; k < kDim / 16; ++k) {
      std::uint32_t a[4], b[4];
      q.get(k, a);
      device::load_matrices(b, from ^ (32u * k));
      device::mma_16x8x16<kBf16>(s[0], a, b[0], b[1]);
      device::mma_16x8x16<kBf16>(s[1], a, b[2], b[3]);
    }
  }

  __device__ static void accumulate(Sums& sums, const std::uint32_t (&p)[2][4], std::uint32_t v_plane,
                                    const Place& place) {
    const int matrix = place.lane / 8, row = 8 * (matrix % 2) + place.lane % 8;
    const std::uint32_t from = v_plane + row * kRowBytes + 16 * v_chunk(row, 16 * place.half + matrix / 2);
#pragma unroll
    for (int k = 0; k < 2; ++k) {
#pragma unroll
      for (int i = 0; i < kDim / 16; i += 2) {
        std::uint32_t b[4];
        device::load_matrices_transposed(b, (from + 16 * kRowBytes * k) ^ (16u * i));
        device::mma_16x8x16<kBf16>(sums[i], p[k], b[0], b[1]);
        device::mma_16x8x16<kBf16>(sums[i + 1], p[k], b[2], b[3]);
      }
    }
  }

  /// The dim of element e (0 or 1) of column tile i.
  __device__ static int dim_of(const Place& place, int i, int e) {
    return 128 * place.half + 8 * i + 2 * place.t + e;
  }

  /// All bits of each 16-bit element whose exponent is all ones.
  __device__ static std::uint32_t non_finite(std::uint32_t pair) {
    return __vcmpeq2(pair & kExponents, kExponents);
  }

  /// 8 elements as fp32.
  __device__ static void decode8(const std::byte* from, float (&out)[8]) {
    const uint4 chunk = *reinterpret_cast<const uint4*>(from);
    const std::uint32_t words[4] = {chunk.x, chunk.y, chunk.z, chunk.w};
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const float2 both = device::unpack<kBf16>(words[i]);
      out[2 * i] = both.x, out[2 * i + 1] = both.y;
    }
  }
};

/// E4M3 cache, decoded to the query's dtype (both hold every E4M3 value exactly) as fragments are made.
template <bool kBf16>
struct Narrow {
  static constexpr bool kIsBf16 = kBf16;
  static constexpr int kElementBytes = 1, kRowBytes = kDim, kStages = 4, kParkedSteps = 6;

  __device__ static std::uint32_t k_chunk(int row, int chunk) {
    return static_cast<std::uint32_t>(chunk ^ ((row & 1) << 2));
  }
  __device__ static std::uint32_t v_chunk(int row, int chunk) { return static_cast<std::uint32_t>(chunk ^ (row & 6)); }

  /// The two codes in half `kHalf` of `codes`.
  template <int kHalf>
  __device__ static std::uint32_t decode(std::uint32_t codes) {
    const std::uint32_t halves = device::e4m3x2_to_f16x2<kHalf>(codes);
    if constexpr (!kBf16) return halves;
    const float2 both = device::unpack<false>(halves);
    return device::pack_rounded<true>(both.x, both.y);
  }

  /// Step 4 * j + s takes dims 16 * (4 * j + t) + 4 * s + {0, 1, 2, 3}: what one 16-byte chunk of K holds.
  __device__ static void load_queries(const std::uint16_t* row, const std::uint16_t* other, const Place& place,
                                      Queries<kParkedSteps>& q) {
#pragma unroll
    for (int k = 0; k < kDim / 16; ++k) {
      const int dim = 16 * (k / 4 * 4 + place.t) + 4 * (k % 4);
      const uint2 low = *reinterpret_cast<const uint2*>(row + dim), high = *reinterpret_cast<const uint2*>(other + dim);
      q.put(k, low.x, high.x, low.y, high.y);
    }
  }

  __device__ static void scores(float (&s)[2][4], const Queries<kParkedSteps>& q, std::uint32_t k_plane,
                                const Place& place) {
    const int row = 16 * place.half + place.g;  // row + 8 has the same permutation
    const std::uint32_t from = k_plane + row * kRowBytes + 16 * k_chunk(row, place.t);
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const uint4 first = load_shared16(from ^ (64u * j)), last = load_shared16((from + 8 * kRowBytes) ^ (64u * j));
      const std::uint32_t words[2][4] = {{first.x, first.y, first.z, first.w}, {last.x, last.y, last.z, last.w}};
#pragma unroll
      for (int step = 0; step < 4; ++step) {
        std::uint32_t a[4];
        q.get(4 * j + step, a);
#pragma unroll
        for (int n = 0; n < 2; ++n)
          device::mma_16x8x16<kBf16>(s[n], a, decode<0>(words[n][step]), decode<1>(words[n][step]));
      }
    }
  }

  __device__ static void accumulate(Sums& sums, const std::uint32_t (&p)[2][4], std::uint32_t v_plane,
                                    const Place& place) {
    const int row = 2 * place.t;  // row + 1, + 8, + 9 and + 16 have the same permutation
    const std::uint32_t from = v_plane + row * kRowBytes + 16 * v_chunk(row, 8 * place.half + place.g);
#pragma unroll
    for (int k = 0; k < 2; ++k) {
      std::uint32_t rows[4][4];  // tokens 2t, 2t + 1, 2t + 8, 2t + 9 of this step
#pragma unroll
      for (int r = 0; r < 4; ++r) {
        const uint4 chunk = load_shared16(from + (16 * k + 8 * (r / 2) + r % 2) * kRowBytes);
        rows[r][0] = chunk.x, rows[r][1] = chunk.y, rows[r][2] = chunk.z, rows[r][3] = chunk.w;
      }
#pragma unroll
      for (int word = 0; word < 4; ++word) {
        const std::uint32_t pairs[4] = {
            __byte_perm(rows[0][word], rows[1][word], 0x5140), __byte_perm(rows[2][word], rows[3][word], 0x5140),
            __byte_perm(rows[0][word], rows[1][word], 0x7362), __byte_perm(rows[2][word], rows[3][word], 0x7362)};
#pragma unroll
        for (int pair = 0; pair < 2; ++pair) {
          const std::uint32_t low = pairs[2 * pair], high = pairs[2 * pair + 1];
          device::mma_16x8x16<kBf16>(sums[4 * word + 2 * pair], p[k], decode<0>(low), decode<0>(high));
          device::mma_16x8x16<kBf16>(sums[4 * word + 2 * pair + 1], p[k], decode<1>(low), decode<1>(high));
        }
      }
    }
  }

  __device__ static int dim_of(const Place& place, int i, int e) {
    return 128 * place.half + 16 * (2 * place.t + e) + i;
  }

  /// All bits of each code that is NaN.
  __device__ static std::uint32_t non_finite(std::uint32_t codes) {
    return __vcmpeq4(codes & 0x7F7F7F7Fu, 0x7F7F7F7Fu);
  }

  /// 8 elements as fp32.
  __device__ static void decode8(const std::byte* from, float (&out)[8]) {
    const uint2 chunk = *reinterpret_cast<const uint2*>(from);
    const std::uint32_t words[2] = {chunk.x, chunk.y};
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const float2 low = device::unpack<false>(device::e4m3x2_to_f16x2<0>(words[i]));
      const float2 high = device::unpack<false>(device::e4m3x2_to_f16x2<1>(words[i]));
      out[4 * i] = low.x, out[4 * i + 1] = low.y, out[4 * i + 2] = high.x, out[4 * i + 3] = high.y;
    }
  }
};

}  // namespace refrain::grouped
