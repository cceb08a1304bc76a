#include "audit/range_set.hpp"

#include <algorithm>

namespace refrain {

void RangeSet::add(ByteRange range) {
  if (range.empty()) return;
  const auto first = std::lower_bound(ranges_.begin(), ranges_.end(), range.begin,
                                      [](const ByteRange& r, std::uint64_t at) { return r.end < at; });
  auto last = first;
  for (; last != ranges_.end() && last->begin <= range.end; ++last)
    range = {std::min(range.begin, last->begin), std::max(range.end, last->end)};
  ranges_.insert(ranges_.erase(first, last), range);
}

bool RangeSet::overlaps(ByteRange range) const noexcept {
  return std::any_of(ranges_.begin(), ranges_.end(), [&](const ByteRange& own) { return own.overlaps(range); });
}

std::vector<ByteRange> RangeSet::missing_from(ByteRange range) const {
  std::vector<ByteRange> missing;
  for (const ByteRange& own : ranges_) {
    if (range.empty() || own.begin >= range.end) break;
    if (own.end <= range.begin) continue;
    if (range.begin < own.begin) missing.push_back({range.begin, own.begin});
    range.begin = own.end;
  }
  if (!range.empty()) missing.push_back(range);
  return missing;
}

ByteRange hull(const std::vector<ByteRange>& ranges) {
  return {ranges.front().begin, ranges.back().end};
}

}  // namespace refrain
