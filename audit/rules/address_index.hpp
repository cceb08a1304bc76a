// Ranges of addresses, each with an id, and a quick answer to which of them meet
// an address or another range. Fast where few ranges overlap each other.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "graphs/contract.hpp"

namespace refrain {

class AddressIndex {
 public:
  void add(Address begin, Address end, std::uint32_t id) {
    if (begin != 0 && begin < end) ranges_.push_back({begin, end, end, id});
    sorted_ = false;
  }
  [[nodiscard]] bool empty() const noexcept { return ranges_.empty(); }

  /// Calls visit(id) for every range that meets [begin, end), the highest begin first.
  template <class Visit>
  void each(Address begin, Address end, Visit visit) {
    sort();
    auto at = static_cast<std::size_t>(
        std::lower_bound(ranges_.begin(), ranges_.end(), end, [](const Range& r, Address a) { return r.begin < a; }) -
        ranges_.begin());
    while (at-- > 0 && ranges_[at].reach > begin)
      if (ranges_[at].end > begin) visit(ranges_[at].id);
  }

 private:
  struct Range {
    Address begin, end;
    Address reach;  // the highest end of this range and those before it
    std::uint32_t id;
  };

  void sort() {
    if (sorted_) return;
    std::sort(ranges_.begin(), ranges_.end(), [](const Range& a, const Range& b) { return a.begin < b.begin; });
    for (std::size_t i = 0; i < ranges_.size(); ++i)
      ranges_[i].reach = i == 0 ? ranges_[i].end : std::max(ranges_[i].end, ranges_[i - 1].reach);
    sorted_ = true;
  }

  std::vector<Range> ranges_;
  bool sorted_ = true;
};

}  // namespace refrain
