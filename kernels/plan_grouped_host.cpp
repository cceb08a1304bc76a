// The planner's twin. The kernel unites the eight selections in a hash table in
// shared memory, and so does this: what comes out depends only on the sort, whose
// keys (category, owner) are unique, never on the order of insertion.
#include <algorithm>
#include <array>
#include <cassert>
#include <cstdint>
#include <vector>

#include "kernels/host_selection.hpp"
#include "kernels/host_twins.hpp"
#include "kernels/plan_grouped.hpp"

namespace refrain {
namespace {

struct Entry {
  std::int32_t microblock = -1;
  std::uint32_t mask = 0;
  std::uint32_t owner = UINT32_MAX;  ///< (query << 29) | (token >> 2), the least over all who select it
  std::uint32_t category = 0;
};

/// Open addressing; 8 x 513 keys at most, so half of it stays free and every search ends.
class Union {
 public:
  void add(std::int64_t microblock, std::int32_t query, std::int64_t token, std::uint32_t token_bits) {
    Entry& entry = find(static_cast<std::int32_t>(microblock));
    entry.mask |= token_bits << (4 * query);
    const auto owner = static_cast<std::uint32_t>(query) << 29 | static_cast<std::uint32_t>(token >> 2);
    entry.owner = std::min(entry.owner, owner);
  }

  [[nodiscard]] std::vector<Entry> sorted() const {
    std::vector<Entry> entries;
    for (const Entry& slot : slots_)
      if (slot.microblock >= 0) entries.push_back(slot);
    for (Entry& entry : entries) entry.category = category_of_mask(entry.mask);
    std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
      return a.category != b.category ? a.category < b.category : a.owner < b.owner;
    });
    return entries;
  }

 private:
  Entry& find(std::int32_t microblock) {
    std::uint32_t at = static_cast<std::uint32_t>(microblock) * 2654435761u % kCapacity;
    while (slots_[at].microblock >= 0 && slots_[at].microblock != microblock) at = (at + 1) % kCapacity;
    slots_[at].microblock = microblock;
    return slots_[at];
  }

  // A block whose entries are four strangers makes four microblocks, hence room for 8 x 2051 tokens.
  static constexpr std::uint32_t kCapacity = 32768;
  std::vector<Entry> slots_ = std::vector<Entry>(kCapacity);
};

void add_row(const PlanGroupedArgs& args, std::int32_t row, std::int32_t query, Union& out) {
  const RowSelection s = row_selection(args.batch, args.selected, row);
  for (std::int64_t block = 0; block < s.complete; ++block) {
    const std::int32_t* entries = s.blocks + 4 * block;
    if (is_aligned_block(entries) && entries[3] < s.seq_len) {
      const std::int64_t id = microblock_of(args.batch, args.pool, s, entries[0]);
      if (id != kNoMicroblock) out.add(id, query, entries[0], 0xFu);
      continue;
    }
    for (std::int32_t i = 0; i < 4; ++i) {
      const std::int64_t id = microblock_of(args.batch, args.pool, s, entries[i]);
      if (id != kNoMicroblock) out.add(id, query, entries[i], 1u << (entries[i] & 3));
    }
  }
  if (s.tail == 0) return;
  const std::int64_t id = microblock_of(args.batch, args.pool, s, s.tail_first);
  if (id != kNoMicroblock) out.add(id, query, s.tail_first, (1u << s.tail) - 1u);
}

/// Writes the entries, each category padded to whole tiles; returns how many columns they take.
std::int64_t write_plan(const std::vector<Entry>& entries, bool fix_padding, std::int32_t* microblocks,
                        std::uint32_t* masks) {
  const std::int32_t pad = fix_padding && !entries.empty() ? entries.front().microblock : 0;
  std::int64_t column = 0;
  const auto put = [&](std::int32_t microblock, std::uint32_t mask) {
    if (column >= kGroupedWidth) return;
    microblocks[column] = microblock;
    masks[column++] = mask;
  };
  for (std::size_t i = 0; i < entries.size(); ++i) {
    put(entries[i].microblock, entries[i].mask);
    const bool last_of_category = i + 1 == entries.size() || entries[i + 1].category != entries[i].category;
    while (last_of_category && column % kTileMicroblocks != 0) put(pad, 0);
  }
  const std::int64_t used = column;
  while (column < kGroupedWidth) put(pad, 0);
  return used;
}

}  // namespace

void plan_grouped_host(const PlanGroupedArgs& args) {
  const std::int32_t rows = real_rows(args.batch);
  for (std::int32_t group = 0; group < args.groups; ++group) {
    std::vector<Entry> entries;
    if (group * kGroupRows + kGroupRows <= rows) {
      Union united;
      for (std::int32_t query = 0; query < kGroupRows; ++query)
        add_row(args, group * kGroupRows + query, query, united);
      entries = united.sorted();
    }
    const std::int64_t at = std::int64_t{group} * kGroupedWidth;
    const std::int64_t columns = write_plan(entries, args.fix_padding, args.microblocks + at, args.masks + at);
    args.tokens[group] = static_cast<std::int32_t>(kMicroblockTokens * columns);
  }
}

}  // namespace refrain
