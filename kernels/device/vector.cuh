// Runs of V elements between memory and fp32 registers, 16 bytes an access where
// a run is that long. The dtype is a run-time value that is the same in every
// thread, so its branches cost nothing beside the memory. A run is aligned to its
// own size, or to 16 bytes when it is longer.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "graphs/contract.hpp"
#include "kernels/device/codec.cuh"

namespace refrain::device {

/// On the host: whether all of these pointers allow accesses of 16 bytes.
template <class... T>
[[nodiscard]] bool aligned16(const T*... pointers) {
  return ((reinterpret_cast<std::uintptr_t>(pointers) % 16 == 0) && ...);
}

/// A run's words: the widest that one access moves. Words, not bytes, because the compiler splits a copy of
/// bytes into single bytes as soon as it is longer than one access.
template <int Bytes>
struct Words {
  using Word = std::conditional_t<
      Bytes % 16 == 0, uint4,
      std::conditional_t<Bytes % 8 == 0, uint2,
                         std::conditional_t<Bytes % 4 == 0, std::uint32_t,
                                            std::conditional_t<Bytes % 2 == 0, std::uint16_t, std::uint8_t>>>>;
  static constexpr int kCount = Bytes / static_cast<int>(sizeof(Word));
  Word words[kCount];

  __device__ void load(const void* from) {
#pragma unroll
    for (int i = 0; i < kCount; ++i) words[i] = static_cast<const Word*>(from)[i];
  }
  /// For what is read before the wait of an early launch: nothing has cleaned the L1 by then.
  __device__ void load_past_l1(const void* from) {
#pragma unroll
    for (int i = 0; i < kCount; ++i) words[i] = __ldcg(static_cast<const Word*>(from) + i);
  }
  __device__ void store(void* to) const {
#pragma unroll
    for (int i = 0; i < kCount; ++i) static_cast<Word*>(to)[i] = words[i];
  }
};

template <int V, class Bits, class Decode>
__device__ void load_bits(const void* data, std::int64_t first, float (&out)[V], Decode decode) {
  Words<V* static_cast<int>(sizeof(Bits))> raw;
  raw.load(static_cast<const Bits*>(data) + first);
  Bits bits[V];
  memcpy(bits, raw.words, sizeof bits);
#pragma unroll
  for (int i = 0; i < V; ++i) out[i] = decode(bits[i]);
}

template <int V, class Bits, class Encode>
__device__ void store_bits(void* data, std::int64_t first, const float (&in)[V], Encode encode) {
  Bits bits[V];
#pragma unroll
  for (int i = 0; i < V; ++i) bits[i] = encode(in[i]);
  Words<V* static_cast<int>(sizeof(Bits))> raw;
  memcpy(raw.words, bits, sizeof bits);
  raw.store(static_cast<Bits*>(data) + first);
}

/// fp16, bf16 or fp32.
template <int V>
__device__ void load_floats(const void* data, Dtype dtype, std::int64_t first, float (&out)[V]) {
  if (dtype == Dtype::fp16)
    load_bits<V, std::uint16_t>(data, first, out, [](std::uint16_t bits) { return fp16_to_float(bits); });
  else if (dtype == Dtype::bf16)
    load_bits<V, std::uint16_t>(data, first, out, [](std::uint16_t bits) { return bf16_to_float(bits); });
  else
    load_bits<V, float>(data, first, out, [](float value) { return value; });
}

/// A run of fp16 or bf16 as it lies in memory, asked for long before it is decoded.
template <int V>
struct HalfRun {
  Words<2 * V> raw;

  __device__ void load_past_l1(const void* data, std::int64_t first) {
    raw.load_past_l1(static_cast<const std::uint16_t*>(data) + first);
  }
  __device__ void decode(Dtype dtype, float (&out)[V]) const {
    std::uint16_t bits[V];
    memcpy(bits, raw.words, sizeof bits);
#pragma unroll
    for (int i = 0; i < V; ++i) out[i] = dtype == Dtype::fp16 ? fp16_to_float(bits[i]) : bf16_to_float(bits[i]);
  }
};

template <int V>
__device__ void store_e4m3(void* data, std::int64_t first, const float (&in)[V]) {
  if constexpr (V == 1) {
    static_cast<std::uint8_t*>(data)[first] = float_to_e4m3(in[0]);
  } else {
    std::uint16_t pairs[V / 2];
#pragma unroll
    for (int i = 0; i < V / 2; ++i) pairs[i] = float2_to_e4m3x2(in[2 * i], in[2 * i + 1]);
    Words<V> raw;
    memcpy(raw.words, pairs, sizeof pairs);
    raw.store(static_cast<std::uint8_t*>(data) + first);
  }
}

/// fp16, bf16, fp32 or e4m3.
template <int V>
__device__ void store_floats(void* data, Dtype dtype, std::int64_t first, const float (&in)[V]) {
  if (dtype == Dtype::fp16)
    store_bits<V, std::uint16_t>(data, first, in, [](float value) { return float_to_fp16(value); });
  else if (dtype == Dtype::bf16)
    store_bits<V, std::uint16_t>(data, first, in, [](float value) { return float_to_bf16(value); });
  else if (dtype == Dtype::e4m3)
    store_e4m3(data, first, in);
  else
    store_bits<V, float>(data, first, in, [](float value) { return value; });
}

}  // namespace refrain::device
