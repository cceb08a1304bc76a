// Contract files on graphs: a kernel node without a contract whose name fits a
// pattern, and whose parameters the graph holds, gets accesses and facts, with
// certainty `contract`. What a pattern can't say of a node (a parameter that is
// not there, an address that no buffer holds) leaves the node unknown, with the
// reason: nothing is guessed. The first contract that fits is the node's.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "audit/contracts/contract_file.hpp"
#include "traces/recording.hpp"

namespace refrain {

/// Where a node's contract comes from, or why it has none.
struct NodeCoverage {
  enum class State : std::uint8_t { own, from_file, unresolved, unknown };
  State state = State::unknown;
  std::string graph;   ///< `decode/node 9/body 0`
  std::string node;    ///< `node 3 (rope_kernel)`
  std::string source;  ///< from_file, unresolved: `vllm.json: vllm-rope`
  std::string reason;  ///< unresolved, unknown
};

struct ContractUse {
  std::string file, id, basis;
  std::size_t fits = 0;   ///< nodes without a contract of their maker's whose name fits the pattern
  std::size_t given = 0;  ///< of these, nodes that have it now
};

struct ContractCoverage {
  std::vector<NodeCoverage> nodes;  ///< every node that touches memory, in order
  std::vector<ContractUse> uses;    ///< every contract of the files, in order
};

/// In nested bodies too.
[[nodiscard]] ContractCoverage apply_contracts(std::vector<Recording>& recordings, std::span<const ContractFile> files);

/// For people: which patterns fit nothing and which nodes could not be resolved, and with `all` every node and
/// contract. Ends in a newline unless it is empty.
[[nodiscard]] std::string coverage_text(const ContractCoverage& coverage, bool all);
/// A JSON object with the same.
[[nodiscard]] std::string coverage_json(const ContractCoverage& coverage);

}  // namespace refrain
