// kv_append on the device: the pool's bytes are the twin's, for every dtype, in
// the 16-byte path and in the path of single elements, NaN and ties included.
#include "kernels/kv_append.hpp"

#include <climits>
#include <cstring>

#include "tests/catch.hpp"
#include "tests/gpu/device_run.hpp"
#include "tests/kernels/scene.hpp"

using namespace refrain;
using namespace refrain::test;

namespace {

constexpr Dtype kInputs[] = {Dtype::fp16, Dtype::bf16, Dtype::fp32}, kPools[] = {Dtype::e4m3, Dtype::fp16, Dtype::bf16};

struct Append {
  /// K and V begin `offset` bytes into their blocks.
  Append(SceneShape shape, Rng& rng, Dtype input, std::int64_t offset = 0) : scene(quantised(shape), rng) {
    const std::int64_t count = std::int64_t{scene.batch.bucket} * scene.pool.kv_heads * scene.pool.dim;
    bytes = count * static_cast<std::int64_t>(dtype_bytes(input));
    args = {.k = scene.memory.take<std::byte>(bytes + offset) + offset,
            .v = scene.memory.take<std::byte>(bytes + offset) + offset,
            .input_dtype = input,
            .pool = scene.pool,
            .batch = scene.batch,
            .k_scale = scene.k_scale,
            .v_scale = scene.v_scale};
  }

  /// Any bits are a valid input: numbers, infinities, NaN of both signs and kinds.
  void fill(Rng& rng) const {
    for (const void* data : {args.k, args.v})
      for (std::int64_t i = 0; i < bytes; ++i)
        static_cast<std::byte*>(const_cast<void*>(data))[i] = static_cast<std::byte>(rng());
  }

  /// An fp16 or bf16 pool stores what it is given.
  static SceneShape quantised(SceneShape shape) {
    if (shape.kv_dtype != Dtype::e4m3) shape.k_scale = shape.v_scale = 1.0f;
    return shape;
  }

  Scene scene;
  std::int64_t bytes = 0;
  KvAppendArgs args;
};

}  // namespace

TEST_CASE("kv_append on the device: random bits land as the twin's bytes, for every dtype, shape and alignment") {
  const std::uint64_t seed = fresh_seed();
  INFO("seed " << seed);
  Rng rng(seed);
  struct Case {
    std::int32_t kv_heads, dim;
    std::int64_t offset;
  };
  // The third is too narrow for 16 bytes of E4M3, the fourth for any; the last begins unaligned.
  for (const Case c : {Case{1, 256, 0}, Case{8, 128, 0}, Case{1, 8, 0}, Case{3, 5, 0}, Case{2, 64, 4}})
    for (const Dtype kv : kPools)
      for (const Dtype input : kInputs) {
        INFO("kv_heads " << c.kv_heads << ", dim " << c.dim << ", pool " << to_string(kv) << ", input "
                         << to_string(input));
        Append append({.lengths = {35, 9, 17},
                       .rows = {7, 2, 11},
                       .pad_rows = 5,
                       .page_size = 16,
                       .kv_heads = c.kv_heads,
                       .dim = c.dim,
                       .kv_dtype = kv,
                       .k_scale = 0.3f,
                       .v_scale = 7.0f},
                      rng, input, c.offset);
        append.fill(rng);
        for (const bool to_null_block : {false, true}) {
          append.args.pad_rows_to_null_block = to_null_block;
          require_as_twin(kv_append, append.args, append.scene.memory);
        }
      }
}

TEST_CASE("kv_append on the device: all 65,536 codes of a 16-bit input convert as on the host") {
  Rng rng(fresh_seed());
  for (const Dtype kv : kPools)
    for (const Dtype input : {Dtype::fp16, Dtype::bf16})
      for (const float scale : {1.0f, 0.75f, 0x1p-6f}) {
        if (kv != Dtype::e4m3 && scale != 1.0f) continue;
        INFO("pool " << to_string(kv) << ", input " << to_string(input) << ", scale " << scale);
        Append append({.lengths = {64}, .rows = {64}, .page_size = 64, .dim = 1024, .kv_dtype = kv, .k_scale = scale},
                      rng, input);
        for (std::uint32_t code = 0; code < 65536; ++code) {
          const auto bits = static_cast<std::uint16_t>(code);
          for (const void* data : {append.args.k, append.args.v})
            std::memcpy(static_cast<std::byte*>(const_cast<void*>(data)) + 2 * code, &bits, 2);
        }
        require_as_twin(kv_append, append.args, append.scene.memory);
      }
}

TEST_CASE("kv_append on the device: rows without a page, a token or a request write nothing") {
  Rng rng(fresh_seed());
  Append append({.lengths = {40}, .rows = {16}, .page_size = 4, .dim = 16}, rng, Dtype::fp16);
  append.fill(rng);
  Scene& s = append.scene;
  const std::int32_t pages[] = {0, -1, INT_MIN, INT_MAX, static_cast<std::int32_t>(s.pool.pages)};
  const std::int64_t positions[] = {40, -1, INT64_MAX, INT64_MIN};
  const std::int32_t requests[] = {-1, 1, INT_MAX, INT_MIN};
  for (std::size_t i = 0; i < 4; ++i) {
    s.page_table[6 + i] = pages[i + 1];
    s.query_pos[i] = positions[i];
    s.token_to_req[4 + i] = requests[i];
  }
  require_as_twin(kv_append, append.args, s.memory);
  s.page_table[6] = pages[0];
  for (const std::int32_t rows : {-3, 0, 5, 16, 99}) {
    *s.rows = rows;
    require_as_twin(kv_append, append.args, s.memory);
  }
}
