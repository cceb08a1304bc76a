#include "bench/grouped_floor.hpp"

#include <algorithm>
#include <array>
#include <bit>

#include "graphs/error.hpp"

namespace refrain::bench {
namespace {

/// What is attended of a microblock, by whomsoever: bit i is token i.
std::uint32_t tokens_of(std::uint32_t mask) {
  std::uint32_t tokens = 0;
  for (int query = 0; query < kGroupRows; ++query) tokens |= mask >> (4 * query) & 0xFu;
  return tokens;
}

}  // namespace

Work count_work(const Case& c, const Routes& r) {
  const auto blocks = read<std::int32_t>(r.plan.microblocks, std::int64_t{r.plan.groups} * kGroupedWidth);
  const auto masks = read<std::uint32_t>(r.plan.masks, std::int64_t{r.plan.groups} * kGroupedWidth);
  const auto tokens = read<std::int32_t>(r.plan.tokens, r.plan.groups);
  std::vector<std::uint8_t> seen(static_cast<std::size_t>(r.plan.pool.pages * r.plan.pool.page_stride4()));
  const double row_bytes = 2.0 * kDim * static_cast<double>(dtype_bytes(c.dtype));  // K and V
  Work work;
  std::int64_t pairs = 0, gathered = 0, unique = 0;
  for (std::size_t group = 0; group < tokens.size(); ++group) {
    work.groups += tokens[group] > 0 ? 1 : 0;
    for (std::size_t tile = 0; tile < static_cast<std::size_t>(tokens[group]) / 32; ++tile) {
      std::uint32_t any = 0;
      for (std::size_t i = 0; i < kTileMicroblocks; ++i) {
        const std::size_t at = group * kGroupedWidth + tile * kTileMicroblocks + i;
        any |= masks[at];
        pairs += std::popcount(masks[at]);
        gathered += std::popcount(tokens_of(masks[at]));
        seen[static_cast<std::size_t>(blocks[at])] |= static_cast<std::uint8_t>(tokens_of(masks[at]));
      }
      ++work.tiles;
      work.m_tiles += std::popcount(category_of_mask(any));
    }
  }
  if (pairs == 0) throw Error(ErrorKind::driver, c.name(), "the plan is empty", "bench_grouped");
  for (const std::uint8_t attended : seen) unique += std::popcount(attended);
  work.attended_flops = static_cast<double>(pairs) * kHeads * 4 * kDim;
  work.gathered_bytes = static_cast<double>(gathered) * row_bytes;
  work.unique_bytes = static_cast<double>(unique) * row_bytes + 2.0 * 2 * c.rows * kHeads * kDim;
  return work;
}

Floor floor_of(const Work& work, const Ceilings& ceilings) {
  const std::array<Floor, 3> all = {{{work.gathered_bytes / ceilings.l2_gbps * 1e-3, "gathers from the L2"},
                                     {work.unique_bytes / ceilings.hbm_gbps * 1e-3, "memory"},
                                     {work.attended_flops / ceilings.tensor_tflops * 1e-6, "tensor cores"}}};
  return *std::max_element(all.begin(), all.end(), [](const Floor& a, const Floor& b) { return a.us < b.us; });
}

}  // namespace refrain::bench
