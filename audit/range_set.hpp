// A set of bytes of one buffer, as ranges that neither touch nor overlap, in
// order. For rules that ask what is left of a range once all that covers it is
// taken away; the facts analysis has Segments, which share their history.
#pragma once

#include <vector>

#include "graphs/contract.hpp"

namespace refrain {

class RangeSet {
 public:
  void add(ByteRange range);

  [[nodiscard]] const std::vector<ByteRange>& ranges() const noexcept { return ranges_; }
  [[nodiscard]] bool empty() const noexcept { return ranges_.empty(); }
  [[nodiscard]] bool overlaps(ByteRange range) const noexcept;
  /// The parts of `range` that this set does not hold, in order.
  [[nodiscard]] std::vector<ByteRange> missing_from(ByteRange range) const;
  [[nodiscard]] bool covers(ByteRange range) const { return missing_from(range).empty(); }

 private:
  std::vector<ByteRange> ranges_;
};

/// From the first byte to the last; `ranges` in order and not empty.
[[nodiscard]] ByteRange hull(const std::vector<ByteRange>& ranges);

[[nodiscard]] constexpr ByteRange intersection(ByteRange a, ByteRange b) noexcept {
  return {a.begin > b.begin ? a.begin : b.begin, a.end < b.end ? a.end : b.end};
}

}  // namespace refrain
