// The matrix instructions of a warpgroup (sm_90a alone): 64 rows, B and perhaps A
// read from shared memory by the tensor cores themselves, fp32 accumulators. Operands
// lie in panels of 64 16-bit elements: 128 bytes a row, 16-byte chunk c of row r at
// c ^ (r % 8), panels at multiples of 1,024 bytes. Accumulators and register A lie in
// each of the four warps as those of m16n8k16 (mma.cuh), 16 rows a warp.
#pragma once

#include <cstdint>

namespace refrain::device {

inline constexpr int kPanelElements = 64, kPanelRowBytes = 128;

/// Byte of 16-byte chunk `chunk` of a row, in an operand whose panels have `rows` rows.
[[nodiscard]] __device__ constexpr std::uint32_t panel_chunk(int rows, int row, int chunk) {
  return static_cast<std::uint32_t>(chunk / 8 * rows * kPanelRowBytes + row * kPanelRowBytes +
                                    16 * (chunk % 8 ^ (row & 7)));
}

/// The descriptor of an operand that begins at `address`: 128-byte swizzle, eight rows every 1,024 bytes, and
/// `panel_bytes` from one panel to the next, which only an operand that is read transposed crosses.
[[nodiscard]] __device__ inline std::uint64_t operand(std::uint32_t address, int panel_bytes) {
  return std::uint64_t{1} << 62 | std::uint64_t{1024 >> 4} << 32 | static_cast<std::uint64_t>(panel_bytes >> 4) << 16 |
         (address & 0x3FFFFu) >> 4;
}

/// Before the first product of a group whose registers anybody else touched.
__device__ inline void begin_products() {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

__device__ inline void commit_products() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

/// Keeps the compiler from moving what it does with the registers over this point.
template <int kTiles>
__device__ void hold(float (&c)[kTiles][4]) {
#pragma unroll
  for (auto& tile : c)
#pragma unroll
    for (float& value : tile) asm volatile("" : "+f"(value)::"memory");
}

/// Until at most `Pending` of this warpgroup's groups are under way.
template <int Pending>
__device__ void wait_for_products() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(Pending) : "memory");
}

/// What this thread stored to shared memory, before a barrier behind which tensor cores read it.
__device__ inline void publish_to_tensor_cores() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

/// The warpgroup's registers a thread from here on; both need a kernel with a register cap.
template <int kRegisters>
__device__ void take_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kRegisters));
}

template <int kRegisters>
__device__ void give_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kRegisters));
}

// clang-format off
#define REFRAIN_WGMMA_TILE(c, i) "+f"(c[i][0]), "+f"(c[i][1]), "+f"(c[i][2]), "+f"(c[i][3])
#define REFRAIN_WGMMA_TILES4(c, i) \
  REFRAIN_WGMMA_TILE(c, i), REFRAIN_WGMMA_TILE(c, i + 1), REFRAIN_WGMMA_TILE(c, i + 2), REFRAIN_WGMMA_TILE(c, i + 3)

/// c (+)= a @ b^T: 64 x 32, both row by row with the 16 summed elements close together. `add` false drops c.
template <bool kBf16>
__device__ void product_64x32(float (&c)[4][4], std::uint64_t a, std::uint64_t b, bool add) {
#define REFRAIN_WGMMA_64X32(type)                                                                                \
  asm volatile("{ .reg .pred p; setp.ne.b32 p, %18, 0;\n"                                                        \
               "wgmma.mma_async.sync.aligned.m64n32k16.f32." type "." type                                       \
               " {%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15}, %16, %17, p, 1, 1, 0, 0; }"            \
               : REFRAIN_WGMMA_TILES4(c, 0)                                                                      \
               : "l"(a), "l"(b), "r"(add ? 1 : 0))
  if constexpr (kBf16) REFRAIN_WGMMA_64X32("bf16"); else REFRAIN_WGMMA_64X32("f16");
#undef REFRAIN_WGMMA_64X32
}

/// The same with a in registers.
template <bool kBf16>
__device__ void product_64x32(float (&c)[4][4], const std::uint32_t (&a)[4], std::uint64_t b, bool add) {
#define REFRAIN_WGMMA_64X32(type)                                                                                \
  asm volatile("{ .reg .pred p; setp.ne.b32 p, %21, 0;\n"                                                        \
               "wgmma.mma_async.sync.aligned.m64n32k16.f32." type "." type                                       \
               " {%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15}, {%16,%17,%18,%19}, %20, p, 1, 1, 0; }" \
               : REFRAIN_WGMMA_TILES4(c, 0)                                                                      \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(add ? 1 : 0))
  if constexpr (kBf16) REFRAIN_WGMMA_64X32("bf16"); else REFRAIN_WGMMA_64X32("f16");
#undef REFRAIN_WGMMA_64X32
}

/// 16 column tiles of c from kFirst on += a @ b: 64 x 128, a in registers, b with the 128 columns close together: it is
/// read transposed. `add` false drops c.
template <bool kBf16, int kFirst, int kTiles>
__device__ void product_64x128(float (&c)[kTiles][4], const std::uint32_t (&a)[4], std::uint64_t b, bool add = true) {
  static_assert(kFirst + 16 <= kTiles);
#define REFRAIN_WGMMA_64X128(type)                                                                               \
  asm volatile("{ .reg .pred p; setp.ne.b32 p, %69, 0;\n"                                                        \
               "wgmma.mma_async.sync.aligned.m64n128k16.f32." type "." type                                      \
               " {%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,"                                        \
               "%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31,"                                \
               "%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,"                                \
               "%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63},"                               \
               " {%64,%65,%66,%67}, %68, p, 1, 1, 1; }"                                                          \
               : REFRAIN_WGMMA_TILES4(c, kFirst), REFRAIN_WGMMA_TILES4(c, kFirst + 4),                           \
                 REFRAIN_WGMMA_TILES4(c, kFirst + 8), REFRAIN_WGMMA_TILES4(c, kFirst + 12)                                                                     \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(add ? 1 : 0))
  if constexpr (kBf16) REFRAIN_WGMMA_64X128("bf16"); else REFRAIN_WGMMA_64X128("f16");
#undef REFRAIN_WGMMA_64X128
}

/// The same with a from shared memory, row by row, and bf16 alone.
template <int kFirst, int kTiles>
__device__ void product_64x128(float (&c)[kTiles][4], std::uint64_t a, std::uint64_t b, bool add) {
  static_assert(kFirst + 16 <= kTiles);
  asm volatile("{ .reg .pred p; setp.ne.b32 p, %66, 0;\n"
               "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16"
               " {%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,"
               "%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31,"
               "%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,"
               "%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63},"
               " %64, %65, p, 1, 1, 0, 1; }"
               : REFRAIN_WGMMA_TILES4(c, kFirst), REFRAIN_WGMMA_TILES4(c, kFirst + 4),
                 REFRAIN_WGMMA_TILES4(c, kFirst + 8), REFRAIN_WGMMA_TILES4(c, kFirst + 12)
               : "l"(a), "l"(b), "r"(add ? 1 : 0));
}
#undef REFRAIN_WGMMA_TILE
#undef REFRAIN_WGMMA_TILES4
// clang-format on

}  // namespace refrain::device
