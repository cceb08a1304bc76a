// The graphs and graph execs of a running program, under numbers of their own: a
// driver hands its handles out again, and a graph that was changed is another one.
// A number is given once, so whatever the recording says of it holds for good. An
// exec that was made before anyone listened has a number and no graph.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "audit/cupti/live_driver.hpp"

namespace refrain {

/// Where a captured node came from.
struct NodeOrigin {
  std::string scope, call_site;
};

class LiveGraphs {
 public:
  struct Exec {
    std::uint64_t number = 0, graph = 0;  ///< graph 0 = not known
    std::uint64_t launches = 0;
  };

  /// A new number for the handle: it is another graph from now on.
  std::uint64_t name_graph(std::uint64_t handle);
  /// The graph was read. Its number; a new one where it is not what was read under this handle before.
  std::uint64_t read_as(std::uint64_t handle, const Graph& graph);
  /// The graph's number; 0 when it was never read, or was changed since.
  [[nodiscard]] std::uint64_t number_of(std::uint64_t handle) const;
  /// It was captured or read, and not destroyed since.
  [[nodiscard]] bool knows(std::uint64_t handle) const { return graphs_.contains(handle); }
  /// It was destroyed, and the bodies of its conditional nodes with it, theirs too.
  void forget_graph(std::uint64_t handle);
  void edited() noexcept { ++edits_; }

  void instantiated(std::uint64_t handle, std::uint64_t graph);
  /// From now on it runs that graph; 0 = not known which.
  void updated(std::uint64_t handle, std::uint64_t graph) { exec(handle).graph = graph; }
  /// A number is given to one that was not seen before.
  [[nodiscard]] Exec& exec(std::uint64_t handle);
  void forget_exec(std::uint64_t handle) { execs_.erase(handle); }

  void came_from(std::uint64_t node, NodeOrigin origin) { origins_[node] = std::move(origin); }
  /// The conditional node, of the graph `owner`, has these bodies; a body is a graph that may own such nodes in turn.
  void has_bodies(std::uint64_t node, std::uint64_t owner, std::vector<std::uint64_t> graphs) {
    bodies_[node] = {owner, std::move(graphs)};
  }
  /// Reads the graph, says of its nodes where they came from, and gives its conditional nodes their bodies,
  /// at any depth that a recording can hold.
  [[nodiscard]] Graph read(LiveDriver& driver, std::uint64_t handle) const { return read(driver, handle, 0); }

 private:
  struct Bodies {
    std::uint64_t owner = 0;
    std::vector<std::uint64_t> graphs;
  };
  struct Known {
    std::uint64_t number = 0, edits = 0;
    std::size_t text = 0;  // hash of its description; 0 = not read yet
  };

  [[nodiscard]] Graph read(LiveDriver& driver, std::uint64_t handle, std::size_t level) const;

  std::unordered_map<std::uint64_t, Known> graphs_;
  std::unordered_map<std::uint64_t, Exec> execs_;
  std::unordered_map<std::uint64_t, NodeOrigin> origins_;
  std::unordered_map<std::uint64_t, Bodies> bodies_;  // by node
  std::uint64_t edits_ = 0, numbers_ = 0;
};

}  // namespace refrain
