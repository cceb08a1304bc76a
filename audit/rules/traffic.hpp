// What launches and copies of a timeline touch, by address: the graphs that a
// timeline ties to their launches, with the accesses of their nodes and bodies,
// and the copies and fills between launches. Rules 407, 409 and 410 share it.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "audit/graph_lives.hpp"
#include "audit/report.hpp"
#include "audit/subject.hpp"

namespace refrain {

/// One access of one node, as addresses.
struct Touch {
  std::size_t view = 0;  ///< of SubjectView::graphs(): the graph or the body
  NodeId node = 0;
  BufferId buffer = 0;
  Address begin = 0, end = 0;
  Mode mode = Mode::read;
};

/// A graph whose launches are known, with its bodies.
struct TimedGraph {
  const GraphLife* life = nullptr;
  std::vector<std::size_t> views;  ///< its own first
  std::vector<Touch> touches;      ///< of buffers whose address is known
  bool has_unknown = false;        ///< a node that may touch anything
};

class Traffic {
 public:
  /// Of one recording of the subject. All must outlive this.
  Traffic(const SubjectView& view, const GraphLives& lives, const Recording& recording);

  [[nodiscard]] const std::vector<TimedGraph>& graphs() const noexcept { return graphs_; }
  /// The graph that the call launches; null for another call, and for a graph that the recording does not hold.
  [[nodiscard]] const TimedGraph* launched_by(const ApiEvent& call) const;

 private:
  std::vector<TimedGraph> graphs_;
  std::unordered_map<const ApiEvent*, std::size_t> launches_;
};

/// The name of the graph's live buffer at the address, or `otherwise`.
[[nodiscard]] std::string buffer_name_at(const Graph& graph, Address address, const char* otherwise);

/// The call writes [address, address + bytes) when it is made: a copy or a fill, blocking or not.
[[nodiscard]] bool writes_at_once(const ApiEvent& call) noexcept;

/// Says which graphs no record ties to their launches.
void tell_untied_graphs(const SubjectView& view, const GraphLives& lives, Report& report, std::string_view rule);

}  // namespace refrain
