#include "tests/kernels/plan_reference.hpp"

#include <bit>
#include <map>
#include <set>
#include <tuple>

namespace refrain::test {
namespace {

struct Union {
  std::uint32_t mask = 0;
  std::pair<std::int32_t, std::int64_t> owner = {99, 0};  // (query, block): the least wins
};

void add_token(const Scene& scene, std::int32_t request, std::int32_t query, std::int64_t token,
               std::map<std::int64_t, Union>& out) {
  if (token < 0 || token >= scene.seq_len[request]) return;
  const std::int64_t entry = token / scene.pool.page_size;
  if (entry >= scene.batch.pages_per_request) return;
  const std::int64_t page = scene.page_table[request * scene.batch.pages_per_request + entry];
  if (page <= 0 || page >= scene.pool.pages) return;
  const std::int64_t per_page = scene.pool.page_size / 2;  // K and V interleaved: 2 x page_size / 4
  Union& u = out[page * per_page + token % scene.pool.page_size / 4];
  u.mask |= 1u << (query * 4 + token % 4);
  u.owner = std::min(u.owner, std::pair{query, token / 4});
}

void add_row(const Scene& scene, std::int32_t row, std::int32_t query, std::map<std::int64_t, Union>& out) {
  const std::int32_t request = scene.token_to_req[row];
  if (request < 0 || request >= scene.batch.requests) return;
  std::int64_t visible = scene.seq_len[request];
  if (scene.query_pos[row] < visible) visible = std::max<std::int64_t>(scene.query_pos[row], -1) + 1;
  const std::int64_t complete = std::min<std::int64_t>(visible / 4, 512);
  const std::int32_t* entries = scene.selected + std::int64_t{row} * kSelectedWidth;
  for (std::int64_t i = 0; i < 4 * complete; ++i) add_token(scene, request, query, entries[i], out);
  if (entries[4 * complete] != visible - visible % 4) return;
  for (std::int64_t token = visible - visible % 4; token < visible; ++token)
    add_token(scene, request, query, token, out);
}

}  // namespace

std::uint32_t reference_category(std::uint32_t mask) {
  std::uint32_t tiles = 0;
  for (std::uint32_t row = 0; row < 48; ++row)
    if ((mask >> (row / 6 * 4) & 0xFu) != 0) tiles |= 1u << (row / 16);
  return tiles;
}

std::vector<PlannedColumn> reference_plan(const Scene& scene, std::int32_t group) {
  if (8 * group + 8 > *scene.rows) return {};
  std::map<std::int64_t, Union> united;
  for (std::int32_t query = 0; query < 8; ++query) add_row(scene, 8 * group + query, query, united);
  using Key = std::tuple<std::uint32_t, std::int32_t, std::int64_t>;
  std::map<Key, PlannedColumn> sorted;
  for (const auto& [microblock, u] : united)
    sorted[{reference_category(u.mask), u.owner.first, u.owner.second}] = {static_cast<std::int32_t>(microblock),
                                                                           u.mask};
  std::vector<PlannedColumn> columns;
  std::uint32_t category = 0;
  for (const auto& [key, column] : sorted) {
    if (std::get<0>(key) != category)
      while (columns.size() % 8 != 0) columns.push_back({});
    category = std::get<0>(key);
    columns.push_back(column);
  }
  while (columns.size() % 8 != 0) columns.push_back({});
  return columns;
}

std::int64_t expected_nan(const PlanGroupedArgs& plan, std::int64_t dims) {
  std::int64_t count = 0;
  for (std::int32_t group = 0; group < plan.groups; ++group) {
    std::uint32_t hurt = 0;
    for (std::int32_t tile = 0; tile < plan.tokens[group] / 32; ++tile) {
      std::uint32_t active = 0;
      bool padded = false;
      for (std::int32_t i = 0; i < 8; ++i) {
        const std::uint32_t mask = plan.masks[std::int64_t{group} * kGroupedWidth + tile * 8 + i];
        active |= reference_category(mask);
        padded |= mask == 0;
      }
      if (padded) hurt |= active;
    }
    count += 16 * dims * std::popcount(hurt);
  }
  return count;
}

}  // namespace refrain::test
