#include "audit/segments.hpp"

#include <algorithm>
#include <limits>

namespace refrain {
namespace {

constexpr std::uint64_t kSizeUnknown = std::numeric_limits<std::uint64_t>::max();

using Cuts = std::vector<std::vector<std::uint64_t>>;

// A chain that ping-pongs two buffers repeats the same few ends: keep the list short as it grows.
void cut(Cuts& cuts, const std::vector<std::uint64_t>& limit, BufferId buffer, ByteRange range) {
  range.end = std::min(range.end, limit[buffer]);
  if (range.empty()) return;
  auto& ends = cuts[buffer];
  if (ends.size() >= 2 && ends[ends.size() - 2] == range.begin && ends.back() == range.end) return;
  ends.push_back(range.begin);
  ends.push_back(range.end);
}

Cuts collect(const Graph& graph, const std::vector<std::uint64_t>& limit) {
  Cuts cuts(graph.buffers.size());
  for (const Node& node : graph.nodes) {
    for (const NodeAccess& access : node.accesses) cut(cuts, limit, access.buffer, access.range);
    for (const NodeClaim& claim : node.needs) cut(cuts, limit, claim.buffer, claim.range);
    for (const NodeClaim& claim : node.gives) cut(cuts, limit, claim.buffer, claim.range);
  }
  for (const EntryFact& entry : graph.entry) cut(cuts, limit, entry.buffer, entry.range);
  return cuts;
}

}  // namespace

Segments::Segments(const Graph& graph) {
  begin_.reserve(graph.buffers.size() + 1);
  for (const Buffer& buffer : graph.buffers) limit_.push_back(buffer.bytes > 0 ? buffer.bytes : kSizeUnknown);
  for (auto& ends : collect(graph, limit_)) {
    begin_.push_back(ranges_.size());
    std::sort(ends.begin(), ends.end());
    ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
    for (std::size_t i = 1; i < ends.size(); ++i) ranges_.push_back({ends[i - 1], ends[i]});
  }
  begin_.push_back(ranges_.size());
}

Segments::Span Segments::of(BufferId buffer, ByteRange range) const {
  range.end = std::min(range.end, limit_[buffer]);
  if (range.empty()) return {};
  const auto first = ranges_.begin() + static_cast<std::ptrdiff_t>(begin_[buffer]);
  const auto last = ranges_.begin() + static_cast<std::ptrdiff_t>(begin_[buffer + 1]);
  const auto starts_before = [](const ByteRange& segment, std::uint64_t at) { return segment.begin < at; };
  const auto from = std::lower_bound(first, last, range.begin, starts_before);
  const auto to = std::lower_bound(from, last, range.end, starts_before);
  return {static_cast<std::size_t>(from - ranges_.begin()), static_cast<std::size_t>(to - ranges_.begin())};
}

}  // namespace refrain
