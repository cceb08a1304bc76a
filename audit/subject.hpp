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
#include "traces/recording.hpp"

namespace refrain {

struct Subject {
  std::vector<Recording> recordings;  ///< one an input; a file that holds graphs alone has no timeline
};

class GraphView {
 public:
  GraphView(const Recording& recording, const Graph& graph, std::string path, std::optional<NodeKind> parent = {})
      : recording_(&recording), graph_(&graph), path_(std::move(path)), parent_(parent) {}

  /// The input that the graph came with: what happened before and after its capture.
  [[nodiscard]] const Recording& recording() const noexcept { return *recording_; }

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
  const Recording* recording_;
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
  /// The recordings that have a timeline.
  [[nodiscard]] const std::vector<const Recording*>& timelines() const noexcept { return timelines_; }
  /// Every graph, each followed by its nested bodies.
  [[nodiscard]] const std::vector<GraphView>& graphs() const noexcept { return graphs_; }

 private:
  void add(const Recording& recording, const Graph& graph, std::string path, std::optional<NodeKind> parent);

  const Subject* subject_;
  std::vector<const Recording*> timelines_;
  std::vector<GraphView> graphs_;
};

}  // namespace refrain
