// Padded rows of inputs and outputs, for rules 308, 311 and 306: which bytes of an
// output no replay writes for sure, and which bytes of an input a replay reads
// though the host refreshes only the others. A read of such bytes is their fault,
// not a read before write.
#pragma once

#include <string>
#include <vector>

#include "audit/subject.hpp"

namespace refrain {

/// `buffer`'s role, or where it has none, that of its first access with one.
[[nodiscard]] std::vector<Role> roles_of(const Graph& graph);

/// Bytes of an output that the graph is about and no node writes exactly.
struct UnwrittenRows {
  BufferId buffer = 0;
  std::vector<ByteRange> missing;  ///< in order, not empty
  std::vector<NodeId> writers;     ///< of the other bytes, or of these through an index
  std::vector<NodeId> readers;     ///< of these
};
/// Of a graph of its own all of whose nodes have contracts; of any other, nothing. Bytes that only another graph of the
/// recording touches are left out: the buffer is as large as the largest bucket.
[[nodiscard]] std::vector<UnwrittenRows> unwritten_rows(const GraphView& view);

/// Bytes of an input that are read, beside others that the host writes before every launch.
struct StaleInput {
  BufferId buffer = 0;
  std::vector<ByteRange> refreshed, stale;  ///< in order, not empty
  std::vector<NodeId> readers;
  std::string origin;  ///< what the stale part rests on: who initialised it once, or empty
};
/// In buffer order. What a node without a contract may have written before is left out.
[[nodiscard]] std::vector<StaleInput> stale_inputs(const GraphView& view);

/// The failure is a read of bytes that rule 308 or 311 reports.
[[nodiscard]] bool is_padding_fault(const GraphView& view, const Failure& failure);

}  // namespace refrain
