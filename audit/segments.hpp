// The bytes of a graph's buffers, cut wherever an access, a claim or an entry
// fact begins or ends, so that all bytes of one segment share one history.
// Segments have dense ids, in buffer and then byte order. Empty ranges have none,
// nor have bytes past the end of a buffer: rule 408 alone tells of those.
#pragma once

#include <cstdint>
#include <vector>

#include "graphs/graph.hpp"

namespace refrain {

class Segments {
 public:
  explicit Segments(const Graph& graph);

  /// Ids [first, last).
  struct Span {
    std::size_t first = 0, last = 0;
  };
  /// The segments of a range; its ends must be those of an access, claim or entry fact of the graph.
  [[nodiscard]] Span of(BufferId buffer, ByteRange range) const;
  [[nodiscard]] ByteRange range(std::size_t segment) const { return ranges_[segment]; }
  [[nodiscard]] std::size_t size() const noexcept { return ranges_.size(); }

 private:
  std::vector<std::uint64_t> limit_;  // per buffer: its bytes, or no limit where they are unknown
  std::vector<ByteRange> ranges_;
  std::vector<std::size_t> begin_;  // per buffer: its first segment; one more at the end
};

}  // namespace refrain
