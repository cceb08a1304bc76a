// What the tests of the XQA route share: batches of one decode row a request, some of
// a scene's rows as a batch of their own, and the comparison of a finished route with
// the oracle.
#pragma once

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include "kernels/codec.hpp"
#include "tests/catch.hpp"
#include "tests/kernels/scene.hpp"

namespace refrain::test {

/// One decode row a request: the lengths at which something changes.
inline std::vector<std::int32_t> edge_lengths(std::int32_t page, std::int32_t partition) {
  return {0, 1, 3, 4, 5, page - 1, page, page + 1, partition - 1, partition, partition + 1, 2048, 2051};
}

inline std::vector<OracleRow> all_rows(const Scene& scene, bool dense) {
  std::vector<OracleRow> rows;
  for (std::int32_t row = 0; row < *scene.rows; ++row)
    rows.push_back(scene.oracle_row(row, dense ? scene.visible_tokens(row) : scene.selected_tokens(row)));
  return rows;
}

inline void require_right(const Scene& scene, const XqaRun& run, const std::vector<OracleRow>& rows) {
  const Compared worst = compare(scene, run.decode.out, run.decode.lse, rows);
  CHECK(worst.out <= 1.0);
  CHECK(worst.lse <= 1.0);
}

inline void require_empty_row(const Scene& scene, const XqaRun& run, std::int32_t row) {
  for (std::int32_t at = row * scene.shape.heads; at < (row + 1) * scene.shape.heads; ++at) {
    REQUIRE(run.decode.lse[at] == -std::numeric_limits<float>::infinity());
    for (std::int64_t d = 0; d < scene.pool.dim; ++d)
      REQUIRE(load_as_float(run.decode.out, scene.shape.q_dtype, std::int64_t{at} * scene.pool.dim + d) == 0.0f);
  }
}

inline SceneShape one_row_each(std::vector<std::int32_t> lengths, std::int32_t page_size, std::int32_t pad_rows = 0) {
  SceneShape shape{.lengths = std::move(lengths), .pad_rows = pad_rows, .page_size = page_size};
  shape.rows.assign(shape.lengths.size(), 1);
  return shape;
}

/// A route of some of the scene's rows, in that order in a bucket of its own: the same queries, selections and pool.
inline XqaRun route_of_rows(Scene& scene, const std::vector<std::int32_t>& rows, std::int32_t bucket,
                            const XqaRun::Options& options) {
  const BatchView batch = scene.batch;
  std::byte* const q = scene.q;
  std::int32_t* const selected = scene.selected;
  const std::int64_t q_bytes =
      std::int64_t{scene.shape.heads} * scene.pool.dim * static_cast<std::int64_t>(dtype_bytes(scene.shape.q_dtype));
  auto* count = scene.memory.take<std::int32_t>(1);
  auto* requests = scene.memory.take<std::int32_t>(bucket);
  auto* positions = scene.memory.take<std::int64_t>(bucket);
  scene.q = scene.memory.take<std::byte>(bucket * q_bytes);
  scene.selected = scene.memory.take<std::int32_t>(std::int64_t{bucket} * kSelectedWidth);
  *count = static_cast<std::int32_t>(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::int64_t from = rows[i], to = static_cast<std::int64_t>(i);
    requests[i] = batch.token_to_req[from];
    positions[i] = batch.query_pos[from];
    std::copy_n(q + from * q_bytes, q_bytes, scene.q + to * q_bytes);
    std::copy_n(selected + from * kSelectedWidth, kSelectedWidth, scene.selected + to * kSelectedWidth);
  }
  scene.batch.rows = count, scene.batch.token_to_req = requests, scene.batch.query_pos = positions;
  scene.batch.bucket = bucket;
  XqaRun run(scene, options);
  scene.batch = batch, scene.q = q, scene.selected = selected;
  return run;
}

/// Whether a row's output and LSE are another's, to the bit.
inline bool same_bits(const XqaRun& a, std::int32_t row_a, const XqaRun& b, std::int32_t row_b) {
  const auto heads = static_cast<std::size_t>(a.decode.heads), lse_bytes = heads * sizeof(float);
  const std::size_t bytes = heads * static_cast<std::size_t>(a.decode.pool.dim) * dtype_bytes(a.decode.out_dtype);
  const auto out = [&](const XqaRun& run, std::int32_t row) {
    return static_cast<const std::byte*>(run.decode.out) + static_cast<std::size_t>(row) * bytes;
  };
  return std::memcmp(out(a, row_a), out(b, row_b), bytes) == 0 &&
         std::memcmp(a.decode.lse + row_a * a.decode.heads, b.decode.lse + row_b * b.decode.heads, lse_bytes) == 0;
}

}  // namespace refrain::test
