// The captured node behind each node of a graph exec. A profiler records one clone
// at a time, and a child graph is cloned twice: the chain is followed to its end,
// inside one process. A chain whose end was made before the trace began says so.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "traces/trace_assembly.hpp"

namespace refrain {

class NodeOrigins {
 public:
  NodeOrigins() = default;
  explicit NodeOrigins(std::vector<TracedNode> rows);

  /// The captured nodes that the call's thread made while it ran are the call's.
  void made_by(const TracedCall& call, std::uint64_t sequence);
  /// One record a clone, then the limit that the chains showed.
  void emit(RecordSink& sink) const;

 private:
  /// A node that is no clone.
  struct Root {
    std::uint64_t time_ns = 0, node = 0;
    std::uint64_t call = WorkEvent::kNoCall;
    std::uint32_t process = 0, thread = 0;
  };

  [[nodiscard]] const TracedNode* clone(std::uint32_t process, std::uint64_t node) const;
  [[nodiscard]] std::uint64_t origin_of(const TracedNode& clone) const;

  std::vector<TracedNode> clones_;    // by process and node
  std::vector<Root> roots_;           // by thread and time
  std::vector<std::size_t> by_node_;  // places of the roots, by process and node
};

}  // namespace refrain
