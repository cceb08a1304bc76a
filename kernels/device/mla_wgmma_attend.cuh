// The warpgroups that attend, in sparse MLA: each scores 32 entries of a tile, the two
// agree on every head's running max, and each sums its half of the dims over all 64
// entries. What they subtract lags behind the max by up to 2^8, so sums are hardly ever
// rescaled. Masking is by predicate; the faults of SparseMlaFaults take just that away.
#pragma once

#include <cstdint>

#include "kernels/device/grouped_instructions.cuh"
#include "kernels/device/mla_softmax.cuh"
#include "kernels/device/mla_wgmma_list.cuh"
#include "kernels/device/mla_wgmma_shape.cuh"

namespace refrain::device {

/// Which part of the products a thread has: heads `head` and `head + 8`, and of its warpgroup's entries and dims those
/// of column 2 t and 2 t + 1 of every eight.
struct MlaPlace {
  int attender, head, t;

  __device__ MlaPlace()
      : attender(__shfl_sync(~0u, static_cast<int>(threadIdx.x) / 128, 0)),
        head(static_cast<int>(threadIdx.x) / 32 % 4 * 16 + static_cast<int>(threadIdx.x) % 32 / 4),
        t(static_cast<int>(threadIdx.x) % 4) {}
};

/// Element j of lane t goes to element t of lane j, within four lanes.
__device__ inline void transpose_quad(std::uint32_t (&x)[4], int t) {
  // Halves first: lanes 0, 1 with 2, 3; then neighbours.
  const bool high = t >= 2, odd = t % 2 != 0;
  const std::uint32_t a = __shfl_xor_sync(~0u, high ? x[0] : x[2], 2);
  const std::uint32_t b = __shfl_xor_sync(~0u, high ? x[1] : x[3], 2);
  (high ? x[0] : x[2]) = a;
  (high ? x[1] : x[3]) = b;
  const std::uint32_t c = __shfl_xor_sync(~0u, odd ? x[0] : x[1], 1);
  const std::uint32_t d = __shfl_xor_sync(~0u, odd ? x[2] : x[3], 1);
  (odd ? x[0] : x[1]) = c;
  (odd ? x[2] : x[3]) = d;
}

/// All threads that attend.
template <class Shape>
__device__ void mla_attenders_meet() {
  grouped::named_barrier(1, Shape::kAttendThreads);
}

/// What a thread knows of its two heads. Sums are of its own columns and by `base`, which lags behind the max.
struct MlaHeads {
  float max[2], base[2], sum[2] = {}, unrounded[2] = {};

  __device__ explicit MlaHeads(const MlaMasking& masking)
      : max{masking.start, masking.start}, base{masking.start, masking.start} {}
};

template <class Shape>
class MlaAttender {
 public:
  __device__ MlaAttender(const SparseMlaArgs& args, char* shared, const MlaHandOver<Shape>& over)
      : args_(args),
        over_(over),
        masking_(args),
        max_(reinterpret_cast<float*>(shared + Shape::kMaxAt)),
        sums_(reinterpret_cast<float2*>(shared + Shape::kSumsAt)) {}

  /// The share's tiles, `n` before them; true where an entry is attended (or a fault takes one in).
  __device__ bool attend(const MlaWork& work, std::int32_t& n, std::int32_t nth, MlaHeads& heads, float (&out)[32][4]) {
    const std::int32_t tiles = work.tiles();
    std::uint32_t any = walks_whole_list(args_.faults) ? 1 : 0;
    if (tiles > 0) {
      wait_for_turn(over_.query_full(), static_cast<std::uint32_t>(nth & 1));
      publish_to_tensor_cores();
    }
#pragma unroll 1
    for (std::int32_t tile = 0; tile < tiles; ++tile, ++n) {
      float scores[4][4];
      over_.wait_full(n);
      score(over_.tile(n), scores);
      if (tile + 1 == tiles) arrive(over_.query_free());
      const std::uint32_t low = attended_of(n, 0), high = attended_of(n, 1);
      any |= low | high;
      std::uint32_t p[2][4];
      weigh(place_.attender == 0 ? low : high, scores, heads, p, out);
      add(over_.tile(n), p, out, tile > 0);
      arrive(over_.free(n));
    }
    return any != 0;
  }

  /// Whole sums of both attenders, in every thread.
  __device__ void finish(MlaHeads& heads) const {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      heads.sum[r] = of_quad(heads.sum[r]);
      heads.unrounded[r] = of_quad(heads.unrounded[r]);
      if (place_.t == 0)
        sums_[Shape::kHeads * place_.attender + place_.head + 8 * r] = {heads.sum[r], heads.unrounded[r]};
    }
    mla_attenders_meet<Shape>();
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const float2 first = sums_[place_.head + 8 * r], second = sums_[Shape::kHeads + place_.head + 8 * r];
      heads.sum[r] = first.x + second.x;
      heads.unrounded[r] = first.y + second.y;
    }
  }

  [[nodiscard]] __device__ const MlaPlace& place() const {
    return place_;
  }

 private:
  static constexpr float kLag = 8;                                      ///< powers of two
  static constexpr std::uint64_t kPanelStep = Shape::kPanelBytes / 16;  ///< descriptors count 16 bytes

  [[nodiscard]] __device__ static float of_quad(float x) {
    x += __shfl_xor_sync(~0u, x, 1);
    return x + __shfl_xor_sync(~0u, x, 2);
  }
  [[nodiscard]] __device__ std::uint32_t attended_of(std::int32_t n, int half) const {
    std::uint32_t bits;
    asm volatile("ld.shared.u32 %0, [%1];" : "=r"(bits) : "r"(over_.attended(n) + 4 * half) : "memory");
    return bits;
  }

  /// Heads by this attender's entries.
  __device__ void score(std::uint32_t tile, float (&scores)[4][4]) const {
    const std::uint64_t q = operand(over_.base, 0);
    const std::uint64_t k = operand(tile + place_.attender * Shape::kOwnEntries * kPanelRowBytes, 0);
    hold(scores);
    begin_products();
#pragma unroll
    for (int step = 0; step < Shape::kDim / 16; ++step) {
      const std::uint64_t skipped = step / 4 * kPanelStep + step % 4 * 2;
      product_64x32<true>(scores, q + skipped, k + skipped, step > 0);
    }
    commit_products();
    wait_for_products<0>();
    hold(scores);
  }

  /// Scores to P, as A fragments, and what was summed to what is subtracted now.
  __device__ void weigh(std::uint32_t attended, float (&s)[4][4], MlaHeads& heads, std::uint32_t (&p)[2][4],
                        float (&out)[32][4]) const {
    const std::uint32_t mine = attended >> 2 * place_.t;  // bits 8 j and 8 j + 1
    float top[2] = {kMinusInf, kMinusInf};
#pragma unroll
    for (int j = 0; j < 4; ++j)
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        s[j][i] = (mine >> (8 * j + i % 2) & 1) != 0 ? s[j][i] * masking_.scale : masking_.masked;
        top[i / 2] = fmaxf(top[i / 2], s[j][i]);
      }
    agree(top);
    float factor[2];
    bool moves = false;
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      heads.max[r] = fmaxf(heads.max[r], top[r]);
      const bool keeps = heads.max[r] <= heads.base[r] + kLag && !masking_.unguarded;
      const float before = heads.base[r];
      if (!keeps) heads.base[r] = heads.max[r];
      moves = moves || !keeps;
      factor[r] = exp2_fast(before - subtracted(heads, r));
    }
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const float base = subtracted(heads, r);
      float sum = 0, unrounded = 0;
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        float exact[2];
#pragma unroll
        for (int i = 0; i < 2; ++i)
          exact[i] = (mine >> (8 * j + i) & 1) != 0 || masking_.by_number ? exp2_fast(s[j][2 * r + i] - base) : 0.0f;
        const std::uint32_t packed = pack_rounded<true>(exact[0], exact[1]);
        const float2 rounded = unpack<true>(packed);
        sum += rounded.x + rounded.y;
        unrounded += exact[0] + exact[1];
        p[j / 2][j % 2 * 2 + r] = packed;
      }
      const float by = moves ? factor[r] : 1.0f;
      heads.sum[r] = heads.sum[r] * by + sum;
      heads.unrounded[r] = heads.unrounded[r] * by + unrounded;
    }
    if (!__any_sync(~0u, moves)) return;
#pragma unroll
    for (auto& tile : out)
#pragma unroll
      for (int i = 0; i < 4; ++i) tile[i] *= factor[i / 2];
  }

  [[nodiscard]] __device__ float subtracted(const MlaHeads& heads, int r) const {
    return masking_.unguarded ? heads.base[r] : softmax_base(heads.base[r]);
  }

  /// The tile's largest scores, of both attenders.
  __device__ void agree(float (&top)[2]) const {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      top[r] = fmaxf(top[r], __shfl_xor_sync(~0u, top[r], 1));
      top[r] = fmaxf(top[r], __shfl_xor_sync(~0u, top[r], 2));
      if (place_.t == 0) max_[Shape::kHeads * place_.attender + place_.head + 8 * r] = top[r];
    }
    mla_attenders_meet<Shape>();
#pragma unroll
    for (int r = 0; r < 2; ++r)
      top[r] = fmaxf(top[r], max_[Shape::kHeads * (1 - place_.attender) + place_.head + 8 * r]);
  }

  /// out (+)= P @ V of the attender's dims: of its own entries at once, of the other's when P of both lies in shared
  /// memory.
  __device__ void add(std::uint32_t tile, const std::uint32_t (&p)[2][4], float (&out)[32][4], bool more) const {
    constexpr std::uint64_t kStep = 16 * kPanelRowBytes / 16;
    const std::uint64_t v = operand(tile, Shape::kPanelBytes) + place_.attender * 4 * kPanelStep;
    const std::uint64_t own = v + 2 * place_.attender * kStep, other = v + 2 * (1 - place_.attender) * kStep;
    hold(out);
    begin_products();
#pragma unroll
    for (int step = 0; step < 2; ++step) {
      product_64x128<true, 0>(out, p[step], own + step * kStep, more || step > 0);
      product_64x128<true, 16>(out, p[step], own + step * kStep + 2 * kPanelStep, more || step > 0);
    }
    commit_products();
    const std::uint32_t to = over_.base + Shape::kWeightsAt;
#pragma unroll
    for (int j = 0; j < 4; ++j)
#pragma unroll
      for (int r = 0; r < 2; ++r)
        asm volatile("st.shared.b32 [%0], %1;" ::"r"(
                         to + panel_chunk(Shape::kHeads, place_.head + 8 * r, 4 * place_.attender + j) + 4 * place_.t),
                     "r"(p[j / 2][j % 2 * 2 + r])
                     : "memory");
    publish_to_tensor_cores();
    mla_attenders_meet<Shape>();
    const std::uint64_t weights = operand(to, 0) + 4 * (1 - place_.attender);
#pragma unroll
    for (int step = 0; step < 2; ++step) {
      product_64x128<0>(out, weights + 2 * step, other + step * kStep, true);
      product_64x128<16>(out, weights + 2 * step, other + step * kStep + 2 * kPanelStep, true);
    }
    commit_products();
    wait_for_products<0>();
    hold(out);
  }

  const SparseMlaArgs& args_;
  const MlaHandOver<Shape>& over_;
  MlaMasking masking_;
  MlaPlace place_;
  float* max_;
  float2* sums_;
};

}  // namespace refrain::device
