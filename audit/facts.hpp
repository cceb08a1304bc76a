// The facts analysis of one graph. A fact that a node needs must be established
// by a node that happens before it, with no write to the range in between or in
// parallel; what holds when a replay begins counts too, if it still holds when
// the next one does. It works by reachability, never by the order in a list, and
// only by what contracts state: a node without one adds nothing and is counted.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "graphs/graph.hpp"
#include "graphs/topology.hpp"

namespace refrain {

/// Why a need failed. `missing`: nothing establishes the fact. `unordered`: something does (or writes over it),
/// but not before the consumer. `short_`: before it, for a part of the range only. `destroyed`: before it, and a
/// write came in between. `entry_lost`: it held when the first replay began, and the graph does not leave it so.
enum class FailureKind : std::uint8_t { missing, unordered, short_, destroyed, entry_lost };

struct Failure {
  FailureKind kind = FailureKind::missing;
  Fact fact = Fact::written;
  NodeId node = 0;  ///< the consumer
  BufferId buffer = 0;
  ByteRange needed;
  ByteRange broken;  ///< from the first to the last byte that fails in this way
  std::optional<NodeId> giver, destroyer;
  bool late = false;                 ///< `unordered`: the giver comes after the consumer, not in parallel to it
  std::optional<std::size_t> entry;  ///< index into Graph::entry
  /// A node without a contract that may have established the fact in time: with one, the failure proves nothing.
  std::optional<NodeId> unknown;
};

/// Two unordered accesses to the same bytes, one of them a write; two accumulations are none.
struct Race {
  NodeId a = 0, b = 0;  ///< a < b in topological order
  BufferId buffer = 0;
  ByteRange range;
  bool exact = false;  ///< both touch exactly these bytes
};

struct FactsResult {
  std::vector<Failure> failures;  ///< at most one a need, in topological order
  std::vector<Race> races;        ///< at least one for every buffer that has any; at most kRacesPerBuffer for each
  std::vector<NodeId> unknown;    ///< nodes that may touch memory and have no contract, in topological order
};

inline constexpr std::size_t kRacesPerBuffer = 256;

/// A node whose effect on memory is not known: it may touch any, and no contract says which.
[[nodiscard]] bool is_unknown(const Node& node) noexcept;

/// What `node` must find true: its needs, and `written` for all that it reads; no claim twice.
[[nodiscard]] std::vector<NodeClaim> needs_of(const Node& node);

/// Near linear in accesses for graphs whose buffers are cut into few different ranges.
[[nodiscard]] FactsResult analyse_facts(const Graph& graph, const Topology& topology);

[[nodiscard]] const char* to_string(FailureKind) noexcept;

}  // namespace refrain
