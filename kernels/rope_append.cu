// Two blocks a row: one turns the heads of q, the other the heads of k and appends them
// and those of v. A thread takes 8 pairs of a head. How far a pair turns and where a row's
// token goes rest on the batch's tables alone, so all of that, an fp64 exponential and two
// trips to memory deep, comes ahead of the wait where the kernel ahead writes none of them.
// Floor: the bytes of qkv read and of q and the pool's rows written over the memory's
// bandwidth. In a decode step one trip to memory is then waited for.
#include <cassert>
#include <cstdint>

#include "kernels/device/early_start.cuh"
#include "kernels/device/rotation.cuh"
#include "kernels/device/round.cuh"
#include "kernels/device/selection.cuh"
#include "kernels/device/vector.cuh"
#include "kernels/launchers.hpp"
#include "kernels/rope_append.hpp"
#include "kernels/row_count.hpp"
#include "kernels/touch_activations.hpp"

namespace refrain {
namespace {

constexpr std::int32_t kThreads = 256, kMaxPairs = 512;

/// The half of a row that is a block's: the heads of q, or those of k and v.
struct Part {
  bool appends;
  std::int32_t heads;
  std::int64_t from;     ///< of its first head in qkv
  std::int64_t to = -1;  ///< in q, or of the K run in the pool; below 0: nowhere
  float k_scale = 1, v_scale = 1;

  __device__ Part(const RopeAppendArgs& args, std::int32_t row, bool kv)
      : appends(kv),
        heads(kv ? 2 * args.pool.kv_heads : args.heads),
        from((row * (args.heads + 2 * std::int64_t{args.pool.kv_heads}) + (kv ? args.heads : 0)) * args.pool.dim) {
    if (kv) k_scale = __ldcg(args.k_scale), v_scale = __ldcg(args.v_scale);
  }

  [[nodiscard]] __device__ std::int64_t target(const RopeAppendArgs& args, std::int32_t row) const {
    if (!appends) return std::int64_t{row} * args.heads * args.pool.dim;
    const std::int64_t slot = device::append_slot(args.batch, args.pool, row);
    return slot == device::kNone ? -1 : args.pool.slot_offset(slot);
  }
  [[nodiscard]] __device__ bool turns(const RopeAppendArgs& args, std::int32_t head) const {
    return !appends || head < args.pool.kv_heads;
  }
};

/// Elements [i, i + V) of a head: to q, or divided by the scale to the pool.
template <int V>
__device__ void put(const RopeAppendArgs& args, const Part& part, std::int32_t head, std::int32_t i,
                    float (&values)[V]) {
  const std::int64_t to = part.to + std::int64_t{head} * args.pool.dim + i;
  if (!part.appends) return device::store_floats<V>(args.q, args.dtype, to, values);
  const bool is_v = head >= args.pool.kv_heads;
  const float scale = is_v ? part.v_scale : part.k_scale;
#pragma unroll
  for (int j = 0; j < V; ++j) values[j] = device::divide(device::round_to(args.dtype, values[j]), scale);
  // The heads of v are the plane behind: as many elements on, but for those of k that lie ahead of them here.
  const std::int64_t plane = args.pool.plane_elements() - std::int64_t{args.pool.kv_heads} * args.pool.dim;
  device::store_floats<V>(args.pool.data, args.pool.dtype, to + (is_v ? plane : 0), values);
}

template <int V>
struct Pairs {
  float low[V], high[V];

  __device__ void load(const RopeAppendArgs& args, std::int64_t first) {
    device::load_floats<V>(args.qkv, args.dtype, first, low);
    device::load_floats<V>(args.qkv, args.dtype, first + args.rotary_dim / 2, high);
  }
};

template <int V>
__device__ void zero_q(const RopeAppendArgs& args, std::int64_t row) {
  const float zeros[V] = {};
  const std::int32_t width = args.heads * args.pool.dim;
  for (std::int32_t at = static_cast<std::int32_t>(threadIdx.x) * V; at < width; at += kThreads * V)
    device::store_floats<V>(args.q, args.dtype, row * width + at, zeros);
}

/// What lies past the rotary part of each head. q's keeps its bits.
template <int V>
__device__ void pass_on(const RopeAppendArgs& args, const Part& part) {
  const std::int32_t chunks = (args.pool.dim - args.rotary_dim) / V;
  for (auto at = static_cast<std::int32_t>(threadIdx.x); at < part.heads * chunks; at += kThreads) {
    const std::int32_t head = at / chunks, i = args.rotary_dim + at % chunks * V;
    const std::int64_t in_part = std::int64_t{head} * args.pool.dim + i;
    if (part.appends) {
      float values[V];
      device::load_floats<V>(args.qkv, args.dtype, part.from + in_part, values);
      put<V>(args, part, head, i, values);
    } else {
      device::Words<2 * V> bits;
      bits.load(static_cast<const std::uint16_t*>(args.qkv) + part.from + in_part);
      bits.store(static_cast<std::uint16_t*>(args.q) + part.to + in_part);
    }
  }
}

template <int V>
__global__ void __launch_bounds__(kThreads) rope_append_kernel(const RopeAppendArgs args, double octaves) {
  const auto thread = static_cast<std::int32_t>(threadIdx.x), row = static_cast<std::int32_t>(blockIdx.x);
  const std::int32_t half = args.rotary_dim / 2, chunks = half / V;
  double speeds[kMaxPairs / kThreads];
#pragma unroll
  for (std::int32_t j = 0; j < kMaxPairs / kThreads; ++j)
    if (const std::int32_t i = thread + j * kThreads; i < half) speeds[j] = device::turns_a_token(i, octaves);
  if (!args.rest_is_done) device::start_next_and_wait();
  __shared__ float2 turns[kMaxPairs];
  __shared__ std::int64_t target;
  Part part(args, row, blockIdx.y != 0);
  const std::int32_t count = part.heads * chunks;
  const auto first_of = [&](std::int32_t at) { return at / chunks * args.pool.dim + at % chunks * V; };
  const auto position = static_cast<double>(__ldcg(reinterpret_cast<const long long*>(args.batch.query_pos) + row));
  const bool real = row < clamp_rows(__ldcg(args.batch.rows), args.batch.bucket);
  // By a warp of its own where the rotary part leaves one: its trips to memory and the turns go side by side.
  if (thread == kThreads - 1) target = part.target(args, row);
#pragma unroll
  for (std::int32_t j = 0; j < kMaxPairs / kThreads; ++j)
    if (const std::int32_t i = thread + j * kThreads; i < half) turns[i] = device::turn_of(position, speeds[j]);
  if (args.rest_is_done) device::start_next_and_wait();
  Pairs<V> pairs;
  if (thread < count) pairs.load(args, part.from + first_of(thread));
  if (!real) {
    if (!part.appends) zero_q<V>(args, row);
    return;
  }
  __syncthreads();
  part.to = target;
  if (part.to < 0) return;
  for (std::int32_t at = thread; at < count; at += kThreads) {
    const std::int32_t head = at / chunks, i = at % chunks * V;
    if (at != thread) pairs.load(args, part.from + first_of(at));
    if (part.turns(args, head)) device::rotate<V>(pairs.low, pairs.high, turns + i);
    put<V>(args, part, head, i, pairs.low);
    put<V>(args, part, head, i + half, pairs.high);
  }
  pass_on<V>(args, part);
}

void launch_at(const RopeAppendArgs& args, KernelPlace place) {
  assert_half(args.dtype);
  assert_pool_shape(args.pool);
  assert(args.batch.bucket > 0 && args.heads > 0 && args.theta > 0);
  assert(args.rotary_dim > 0 && args.rotary_dim % 2 == 0 && args.rotary_dim <= args.pool.dim);
  assert(args.rotary_dim <= 2 * kMaxPairs);
  const dim3 grid(static_cast<unsigned>(args.batch.bucket), 2);
  const double octaves = log2(args.theta) * 2 / args.rotary_dim;
  if (args.rotary_dim % 16 == 0 && args.pool.dim % 8 == 0 && device::aligned16(args.qkv, args.q, args.pool.data))
    launch_kernel(rope_append_kernel<8>, grid, kThreads, 0, place, args, octaves);
  else
    launch_kernel(rope_append_kernel<1>, grid, kThreads, 0, place, args, octaves);
}

}  // namespace

void rope_append_launch(const RopeAppendArgs& args, void* stream) {
  launch_at(args, {static_cast<cudaStream_t>(stream)});
}

void rope_append_launch_early(const RopeAppendArgs& args, void* stream) {
  launch_at(args, {static_cast<cudaStream_t>(stream), Start::early});
}

}  // namespace refrain
