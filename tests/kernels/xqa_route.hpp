// What the tests of the XQA route share: batches of one decode row a request and
// the comparison of a finished route with the oracle.
#pragma once

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

}  // namespace refrain::test
