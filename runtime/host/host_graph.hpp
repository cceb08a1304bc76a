// The host driver's graphs: nodes that hold what to run, in capture order, and
// the state of a capture in progress. Plain values; host_driver.cpp moves them.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "graphs/graph.hpp"
#include "runtime/driver.hpp"

namespace refrain {

struct HostNode {
  Node node;
  std::vector<std::uint64_t> dependencies;  ///< 1-based places of earlier nodes
  std::function<void()> run;                ///< empty for nodes that do nothing on the host
  bool early = false;                       ///< its edges are programmatic
  std::shared_ptr<std::byte[]> memory;      ///< of an alloc node; shared, because the graph and each exec of it own it
};

/// Dependencies always point backwards, so running in order keeps every edge.
struct HostGraph {
  std::vector<HostNode> nodes;
};

/// One stream capture: the graph so far, and for each stream in it the nodes that its next one depends on.
struct HostCapture {
  std::uint32_t thread = 0;
  CaptureMode mode = CaptureMode::global;
  Stream origin;
  bool blocking = false;
  bool invalidated = false;
  HostGraph graph;
  std::map<std::uint64_t, std::vector<std::uint64_t>> frontier;

  [[nodiscard]] bool holds(Stream stream) const { return frontier.contains(stream.id); }
  /// Appends a node after everything that `stream` waits for.
  HostNode& append(Stream stream, Node node, std::function<void()> run);
  /// Makes `stream` wait for `nodes` too; joins it to the capture if it is not in it.
  void depend(Stream stream, const std::vector<std::uint64_t>& nodes);
  /// Every node of every stream happens before the end of the origin stream.
  [[nodiscard]] bool joined() const;
};

}  // namespace refrain
