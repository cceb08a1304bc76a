// A batch of latent rows on their way into a paged pool of MLA records: the tables of
// a Scene, with all that they poison, and a pool of 0xFF beside them.
#pragma once

#include "kernels/codec.hpp"
#include "kernels/mla_append.hpp"
#include "tests/kernels/mla_scene.hpp"

namespace refrain::test {

struct LatentScene {
  LatentScene(MlaRecord record, const SceneShape& shape, Rng& rng) : scene(shape, rng) {
    args.pool = {.pages = scene.pool.pages, .page_size = shape.page_size, .record = record};
    args.pool.data = scene.memory.take_bytes(args.pool.bytes());
    args.batch = scene.batch;
    args.latent = latent = scene.memory.take<std::byte>(std::int64_t{2} * scene.batch.bucket * args.pool.dim());
    fill(rng);
  }

  /// Random rows whose groups have magnitudes of their own, from 2^-20 to 2^20; pad rows stay 0xFF.
  void fill(Rng& rng) {
    std::normal_distribution<float> normal;
    for (std::int64_t i = 0; i < std::int64_t{*scene.rows} * args.pool.dim(); i += 64) {
      const float size = std::ldexp(1.0f, static_cast<int>(rng() % 41) - 20);
      for (std::int64_t at = i; at < i + 64; ++at) put(at, size * normal(rng));
    }
  }
  void put(std::int64_t index, float value) { store_from_float(latent, Dtype::bf16, index, value); }
  [[nodiscard]] double value(std::int32_t row, std::int64_t at) const {
    return double{load_as_float(latent, Dtype::bf16, std::int64_t{row} * args.pool.dim() + at)};
  }

  /// The slot of a real row's token, read from the tables as a person would.
  [[nodiscard]] std::int64_t slot(std::int32_t row) const {
    const std::int64_t token = scene.query_pos[row], size = args.pool.page_size;
    const std::int64_t entry = std::int64_t{scene.token_to_req[row]} * scene.batch.pages_per_request + token / size;
    return scene.page_table[entry] * size + token % size;
  }
  [[nodiscard]] std::vector<std::byte> pool_bytes() const {
    return {args.pool.data, args.pool.data + args.pool.bytes()};
  }

  Scene scene;
  MlaAppendArgs args;
  std::byte* latent = nullptr;
};

}  // namespace refrain::test
