// What the auditor asks of the driver and of the process while it listens: whose
// memory an address is, what a graph holds, which node was captured last, who makes
// the call. Asked from inside callbacks; a fake answers in tests. None of it changes
// anything.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "graphs/graph.hpp"

namespace refrain {

struct WalkedGraph {
  Graph graph;
  std::vector<std::uint64_t> handles;  ///< of the nodes, in their order
};

struct LiveDriver {
  LiveDriver() = default;
  LiveDriver(const LiveDriver&) = delete;
  LiveDriver& operator=(const LiveDriver&) = delete;
  virtual ~LiveDriver() = default;

  /// The allocation that holds `address` now; nothing for memory that the driver does not know.
  [[nodiscard]] virtual std::optional<Buffer> identify(Address address) = 0;
  /// Throws Error{driver} where the driver refuses.
  [[nodiscard]] virtual WalkedGraph walk(std::uint64_t graph) = 0;
  /// The node that the last captured call of the stream made; 0 = cannot tell.
  [[nodiscard]] virtual std::uint64_t last_node(std::uint64_t stream, bool per_thread) = 0;
  /// The driver's number of the capture that the stream is in; 0 = in none.
  [[nodiscard]] virtual std::uint64_t capture_of(std::uint64_t stream, bool per_thread) = 0;
  /// All of it is mapped into the process.
  [[nodiscard]] virtual bool is_mapped(Address address, std::uint64_t bytes) = 0;
  /// It lies in the stack of the calling thread.
  [[nodiscard]] virtual bool on_own_stack(Address address) = 0;
  /// Where the stack of the function that makes the call ends: what lies below is no variable of anyone; 0 = not known.
  [[nodiscard]] virtual Address caller_stack() = 0;
  /// The function that made the call, as its name goes; empty where there is none.
  [[nodiscard]] virtual std::string call_site() = 0;
};

}  // namespace refrain
