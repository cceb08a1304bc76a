// One contract on one node: addresses and extents from the bytes of its
// parameters, places from the graph's buffers. All of it, or the reason why not.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "audit/contracts/contract_file.hpp"
#include "graphs/live_buffers.hpp"

namespace refrain {

/// An access whose bytes come from outside the graph, unless a node of it writes them.
struct OutsideBytes {
  std::size_t access = 0;  ///< index into the node's accesses
  Origin origin = Origin::initialised_once;
  bool to_the_end = false;  ///< of its buffer: it ends where a node of the graph writes
};

struct Resolved {
  std::vector<NodeAccess> accesses;
  std::vector<NodeClaim> needs, gives;
  std::vector<OutsideBytes> outside;
  std::string problem;  ///< not empty: the rest says nothing
};

/// `groups`: what the contract's pattern matched in the node's name.
[[nodiscard]] Resolved resolve_contract(const KernelContract& contract, const ContractFile& file,
                                        const std::vector<std::string>& groups, const Graph& graph,
                                        const LiveBuffers& live, const Node& node);

}  // namespace refrain
