// What is judged. A Subject is plain data: graphs and calls, with the names of
// the inputs that they came from. A SubjectView is what the rules see of it: one
// GraphView for every graph and every nested body, with the order and the facts
// worked out when first asked for and kept. A view borrows: the subject must outlive it
// and stay as it is. Not for use by two threads at once.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "audit/causes.hpp"
#include "audit/facts.hpp"
#include "graphs/graph.hpp"
#include "graphs/topology.hpp"
#include "traces/timeline.hpp"

namespace refrain {

struct Subject {
  std::vector<std::string> inputs;  ///< as the report names them: files, commands
  std::vector<Graph> graphs;
  Timeline timeline;
};

class GraphView {
 public:
  GraphView(const Graph& graph, std::string path, std::optional<NodeKind> parent = {})
      : graph_(&graph), path_(std::move(path)), parent_(parent) {}

  [[nodiscard]] const Graph& graph() const noexcept { return *graph_; }
  /// `step/node 9/graph_5`
  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  /// The kind of the node whose body this is; nothing for a graph of its own.
  [[nodiscard]] std::optional<NodeKind> parent() const noexcept { return parent_; }

  /// Throws Error{input} for a graph with a cycle.
  [[nodiscard]] const Topology& topology() const;
  [[nodiscard]] const FactsResult& facts() const;
  [[nodiscard]] const Causes& causes() const;

 private:
  const Graph* graph_;
  std::string path_;
  std::optional<NodeKind> parent_;
  mutable std::unique_ptr<Topology> topology_;
  mutable std::unique_ptr<FactsResult> facts_;
  mutable std::unique_ptr<Causes> causes_;
};

class SubjectView {
 public:
  explicit SubjectView(const Subject& subject);

  [[nodiscard]] const Subject& subject() const noexcept { return *subject_; }
  /// Every graph, each followed by its nested bodies.
  [[nodiscard]] const std::vector<GraphView>& graphs() const noexcept { return graphs_; }

 private:
  void add(const Graph& graph, std::string path, std::optional<NodeKind> parent);

  const Subject* subject_;
  std::vector<GraphView> graphs_;
};

}  // namespace refrain
