// What the grouped route of one case has to do at least: counted from its plan, held
// against what the chip can move and multiply. Not a time of anything that ran.
#pragma once

#include <string>

#include "bench/grouped_routes.hpp"

namespace refrain::bench {

struct Ceilings {
  double hbm_gbps = 0, l2_gbps = 0;  ///< measured, plain reads
  double tensor_tflops = 788;        ///< an 8192 x 8192 x 8192 bf16 product of random values
};

struct Work {
  std::int64_t groups = 0, tiles = 0, m_tiles = 0;  ///< K/V tiles, and 16-row M tiles that have a part in them
  double attended_flops = 0;                        ///< of (row, token) pairs that attend, without what tiles add
  double gathered_bytes = 0;                        ///< K and V rows that some query of a group attends, per group
  double unique_bytes = 0;                          ///< those rows once, with the queries and the outputs
};

/// From the plan on the device; throws where it is empty.
[[nodiscard]] Work count_work(const Case& c, const Routes& r);

struct Floor {
  double us = 0;
  std::string by;  ///< which of the three it is
};

[[nodiscard]] Floor floor_of(const Work& work, const Ceilings& ceilings);

/// QK^T and PV of one 16-row M tile and 32 tokens.
inline constexpr double kTileFlops = 4.0 * 16 * 32 * kDim;

}  // namespace refrain::bench
