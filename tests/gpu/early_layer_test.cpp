// The small kernels of a decoder layer between GEMMs of few rows, launched early: each
// begins, and lets the one behind it begin, while the GEMM ahead still writes. Whatever
// overlaps, the bits are those of kernels that run one after the other.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <vector>

#include "tests/catch.hpp"
#include "tests/gpu/decoder_on_device.hpp"
#include "tests/kernels/numbers.hpp"

using namespace refrain;
using namespace refrain::test;

namespace {

/// Four layers over one set of weights, without attention: q goes on as what it would have attended to. Every layer
/// writes the same activations again, while the one ahead may still be reading them.
class MiniLayers {
 public:
  static constexpr std::int32_t kBucket = 8, kWidth = 2048, kFfn = 4096, kHeads = 16, kKvHeads = 4, kDim = 128;
  static constexpr std::int32_t kPages = 9, kPageSize = 16, kLayers = 4;
  static constexpr Dtype kDtype = Dtype::bf16;

  explicit MiniLayers(Rng& rng) {
    for (std::byte** matrix : {&qkv_w, &o_w, &gate_up_w, &down_w}) *matrix = take(largest_matrix());
    fill_weights(rng);
    fill_normal(norm_w, kDtype, 0, kWidth, 1, rng);
    *rows = 5;
    for (std::int32_t row = 0; row < kBucket; ++row) {
      requests[row] = row, lengths[row] = 16, pages[row] = 1 + row;
      positions[row] = std::uniform_int_distribution<std::int32_t>(0, 15)(rng);
    }
    *scale = 1;
  }

  void enqueue(GemmPlans& plans, const DeviceCopy& copy, void* stream, bool early) const {
    const auto run = [&](const auto& op, auto args) {
      early ? op.launch_early(args, stream) : op.launch(args, stream);
    };
    const auto linear = [&](const std::byte* a, const std::byte* w, std::int32_t n, std::int32_t k, std::byte* out) {
      GemmArgs args{.a = copy.at(a),
                    .w = copy.at(w),
                    .dtype = kDtype,
                    .out_dtype = kDtype,
                    .bucket = kBucket,
                    .n = n,
                    .k = k,
                    .out = copy.at(out)};
      args.plan = plans.plan(args);
      run(gemm, args);
    };
    const auto norm = [&] {
      RmsNormArgs args = on_device(copy, RmsNormArgs{.x = branch,
                                                     .weight = norm_w,
                                                     .rows = rows,
                                                     .dtype = kDtype,
                                                     .bucket = kBucket,
                                                     .width = kWidth,
                                                     .residual = residual,
                                                     .out = normed});
      args.rest_is_done = true;
      run(rms_norm, args);
    };
    for (int layer = 0; layer < kLayers; ++layer) {
      norm();
      linear(normed, qkv_w, (kHeads + 2 * kKvHeads) * kDim, kWidth, qkv);
      RopeAppendArgs rope =
          on_device(copy, RopeAppendArgs{.qkv = qkv,
                                         .dtype = kDtype,
                                         .heads = kHeads,
                                         .rotary_dim = kDim,
                                         .pool = {pool, kPages, kPageSize, kKvHeads, kDim, kDtype},
                                         .batch = {rows, requests, positions, lengths, pages, kBucket, kBucket, 1},
                                         .k_scale = scale,
                                         .v_scale = scale,
                                         .q = q});
      rope.rest_is_done = true;
      run(rope_append, rope);
      linear(q, o_w, kWidth, kHeads * kDim, branch);
      norm();
      linear(normed, gate_up_w, 2 * kFfn, kWidth, gate_up);
      SiluMulArgs silu = on_device(
          copy, SiluMulArgs{
                    .gate_up = gate_up, .rows = rows, .dtype = kDtype, .bucket = kBucket, .width = kFfn, .out = gated});
      silu.rest_is_done = true;
      run(silu_mul, silu);
      linear(gated, down_w, kWidth, kFfn, branch);
    }
    norm();
  }

  /// What this step brings: other rows, positions, residual and branch; all else is as it was made, NaN.
  void begin_step(Rng& rng) {
    *rows = std::uniform_int_distribution<std::int32_t>(1, kBucket)(rng);
    for (std::int32_t row = 0; row < kBucket; ++row)
      positions[row] = std::uniform_int_distribution<std::int32_t>(0, 15)(rng);
    for (std::byte* data : {residual, branch}) fill_normal(data, kDtype, 0, std::int64_t{*rows} * kWidth, 1, rng);
  }

 private:
  static constexpr std::int64_t largest_matrix() { return std::int64_t{2} * kFfn * kWidth; }
  std::byte* take(std::int64_t count) { return take_elements(memory, kDtype, count); }

  /// Small random values; the matrices are runs of one pool of them, so that millions need not be drawn.
  void fill_weights(Rng& rng) {
    constexpr std::int64_t kDrawn = 1 << 18;
    std::vector<std::uint16_t> drawn(2 * kDrawn);
    fill_normal(drawn.data(), kDtype, 0, kDrawn, 0.02f, rng);
    std::memcpy(drawn.data() + kDrawn, drawn.data(), kDrawn * 2);
    for (std::byte* matrix : {qkv_w, o_w, gate_up_w, down_w})
      for (std::int64_t at = 0; at < largest_matrix(); at += kDrawn)
        std::memcpy(matrix + 2 * at, drawn.data() + std::uniform_int_distribution<std::int64_t>(0, kDrawn)(rng),
                    kDrawn * 2);
  }

 public:
  Memory memory;
  std::byte *qkv_w = nullptr, *o_w = nullptr, *gate_up_w = nullptr, *down_w = nullptr;
  std::byte* norm_w = take(kWidth);
  std::byte* residual = take(kBucket * kWidth);
  std::byte* branch = take(kBucket * kWidth);
  std::byte* normed = take(kBucket * kWidth);
  std::byte* qkv = take(kBucket * (kHeads + 2 * kKvHeads) * kDim);
  std::byte* q = take(kBucket * kHeads * kDim);
  std::byte* gate_up = take(kBucket * 2 * kFfn);
  std::byte* gated = take(kBucket * kFfn);
  std::byte* pool = take(std::int64_t{kPages} * 2 * kPageSize * kKvHeads * kDim);
  std::int32_t* rows = memory.take<std::int32_t>(1);
  std::int32_t* requests = memory.take<std::int32_t>(kBucket);
  std::int64_t* positions = memory.take<std::int64_t>(kBucket);
  std::int32_t* lengths = memory.take<std::int32_t>(kBucket);
  std::int32_t* pages = memory.take<std::int32_t>(kBucket);
  float* scale = memory.take<float>(1);
};

}  // namespace

TEST_CASE(
    "early layers on the GPU: kernels that start before the ones ahead have ended leave the bits of those that wait") {
  std::optional<GemmPlans> plans;
  if (!make_gemm_plans(plans, 0)) return;
  Rng rng(fresh_seed());
  MiniLayers layers(rng);
  DeviceCopy copy(layers.memory);
  const auto enqueue = [&](bool early) {
    return [&, early](void* stream) { layers.enqueue(*plans, copy, stream, early); };
  };
  run_directly(enqueue(true));  // loads the kernels before a capture needs them
  Replay early(enqueue(true));
  Replay late(enqueue(false));
  const Memory::Photo poison = layers.memory.photo();
  for (int step = 0; step < 8; ++step) {
    layers.memory.restore(poison);
    layers.begin_step(rng);
    const Memory::Photo given = layers.memory.photo();
    copy.upload(given);
    late.run();
    const Memory::Photo want = copy.download();
    copy.upload(given);
    early.run();
    require_same(copy.download(), want);
    layers.memory.restore(want);
    std::vector<float> normed(static_cast<std::size_t>(*layers.rows) * MiniLayers::kWidth);
    decode_to_float(layers.normed, MiniLayers::kDtype, 0, static_cast<std::int64_t>(normed.size()), normed.data());
    for (const float value : normed) REQUIRE(std::isfinite(value));
    REQUIRE(std::any_of(normed.begin(), normed.end(), [](float value) { return value != 0; }));
  }
}
