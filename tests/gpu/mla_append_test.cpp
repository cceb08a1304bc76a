// mla_append on the device: the whole pool, to the bit, as the twin leaves it.
#include <climits>
#include <cmath>

#include "tests/catch.hpp"
#include "tests/gpu/device_run.hpp"
#include "tests/kernels/latent_scene.hpp"

using namespace refrain;
using namespace refrain::test;

namespace {

/// Every bit pattern of bf16 may stand in the rows: NaN with any payload, infinities, subnormals.
void fill_bits(LatentScene& latent, Rng& rng) {
  for (std::int64_t i = 0; i < std::int64_t{2} * *latent.scene.rows * latent.args.pool.dim(); ++i)
    latent.latent[i] = static_cast<std::byte>(rng());
}

SceneShape shape_of(std::int32_t page_size) {
  return {.lengths = {135, 9, 700}, .rows = {5, 2, 40}, .pad_rows = 3, .page_size = page_size, .dim = 8};
}

}  // namespace

TEST_CASE("mla_append on the device: every record format and page size gives the twin's bits") {
  const std::uint64_t seed = fresh_seed();
  INFO("seed " << seed);
  Rng rng(seed);
  for (const MlaRecord record : kMlaRecords)
    for (const std::int32_t page_size : {4, 64, 256}) {
      CAPTURE(record, page_size);
      LatentScene latent(record, shape_of(page_size), rng);
      require_as_twin(mla_append, latent.args, latent.scene.memory);
      fill_bits(latent, rng);
      require_as_twin(mla_append, latent.args, latent.scene.memory);
    }
}

TEST_CASE("mla_append on the device: groups of one magnitude give the twin's scales from subnormal to largest") {
  Rng rng(fresh_seed());
  for (const MlaRecord record : {MlaRecord::e4m3_656, MlaRecord::e4m3_584}) {
    LatentScene latent(record, shape_of(64), rng);
    for (std::int32_t row = 0; row < *latent.scene.rows; ++row)
      for (std::int64_t at = 0; at < latent.args.pool.dim(); ++at) {
        const auto exponent = static_cast<int>((row * 9 + at / 64) % 261) - 133;
        latent.put(row * latent.args.pool.dim() + at, std::ldexp(at % 3 == 0 ? 1.75f : 1.0f, exponent));
      }
    require_as_twin(mla_append, latent.args, latent.scene.memory);
  }
}

TEST_CASE("mla_append on the device: bad pages and positions and requests and row counts write nothing") {
  Rng rng(fresh_seed());
  for (const MlaRecord record : kMlaRecords) {
    LatentScene latent(record, shape_of(4), rng);
    Scene& s = latent.scene;
    const std::int32_t page = s.page_table[33];
    for (const std::int32_t bad : {0, -1, INT_MIN, INT_MAX, static_cast<std::int32_t>(s.pool.pages)}) {
      s.page_table[33] = bad;
      require_as_twin(mla_append, latent.args, s.memory);
    }
    s.page_table[33] = page;
    const std::int64_t positions[] = {135, -1, INT64_MAX, INT64_MIN};
    std::copy(std::begin(positions), std::end(positions), s.query_pos);
    for (const std::int32_t request : {-1, 3, INT_MAX}) {
      s.token_to_req[5] = request;
      require_as_twin(mla_append, latent.args, s.memory);
    }
    for (const std::int32_t rows : {-3, 0, 5, 47, 99}) {
      *s.rows = rows;
      require_as_twin(mla_append, latent.args, s.memory);
    }
  }
}
