// Which buffers lived and died at an address, for one graph: its own buffers,
// with what the timeline knows of them, and the timeline's others. A death
// matters only if the graph was launched after it or still can be; a graph that no
// timeline ties to a handle may be launched at any time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "audit/graph_lives.hpp"
#include "audit/rules/address_index.hpp"
#include "audit/subject.hpp"

namespace refrain {

/// Index into BufferHistory: the graph's own buffers come first, under their ids.
using HistoryId = std::uint32_t;

/// A pointer that leads into a dead buffer.
struct DeadEnd {
  HistoryId dead = 0;
  std::optional<HistoryId> tenant;  ///< the later buffer that a replay met there, or meets now
  std::uint64_t offset = 0;         ///< into the dead buffer
};

class BufferHistory {
 public:
  /// `life` is null for a graph that nothing ties to a timeline. Both must outlive this.
  BufferHistory(const GraphView& view, const GraphLife* life);

  [[nodiscard]] bool nothing_died() const noexcept { return dead_.empty(); }
  /// Some buffer says when it was born or died.
  [[nodiscard]] bool is_known() const;

  [[nodiscard]] const Buffer& operator[](HistoryId id) const { return buffers_[id]; }
  /// The buffer's name, or `buffer 7`.
  [[nodiscard]] std::string name(HistoryId id) const;
  /// Replays after the buffer died; nothing for a graph without a timeline.
  [[nodiscard]] std::optional<RunAfter> replays_after(HistoryId dead) const;

  /// An access names its buffer, so no doubt is left about which one was meant.
  [[nodiscard]] std::optional<DeadEnd> of_access(const NodeAccess& access) const;
  /// A bare address may have been captured after its new tenant moved in: it did if a contract names the tenant.
  [[nodiscard]] std::optional<DeadEnd> of_address(Address address) const;

 private:
  void add_timeline(const Timeline& timeline);
  void index();
  [[nodiscard]] bool was_there_at_capture(const Buffer& buffer) const;
  [[nodiscard]] std::optional<HistoryId> last_dead_at(Address address) const;
  [[nodiscard]] std::optional<DeadEnd> dead_end(HistoryId dead, Address address) const;
  [[nodiscard]] bool was_met(const Buffer& tenant, const RunAfter& after) const;
  [[nodiscard]] bool is_own(Address address) const;

  const Graph& graph_;
  const GraphLife* life_;
  std::vector<Buffer> buffers_;
  std::vector<HistoryId> dead_;                // those whose death matters
  mutable AddressIndex addresses_;             // of these, the ones that a bare address can mean
  std::vector<std::vector<HistoryId>> later_;  // per buffer: the others that overlap it, if its death matters
  std::vector<bool> named_;                    // by a contract of the graph
  std::vector<AllocationInfo> own_;
};

}  // namespace refrain
