// What a timeline says about each graph of its recording: when it was captured,
// which graph execs were made of it, when each was launched and when it went. The
// rules on pointers, inputs and staging memory ask it whether a replay came after
// something, or still can. It knows handles and order only, nothing of memory.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "audit/subject.hpp"
#include "traces/call_kinds.hpp"

namespace refrain {

struct ExecLife {
  std::uint64_t made = 0;             ///< sequence of its instantiation, or of the update that made it run this graph
  std::optional<std::uint64_t> gone;  ///< destroyed, or updated from another graph; absent: alive at the end
  std::vector<const ApiEvent*> launches;  ///< those that came back 0, in order
};

struct GraphLife {
  bool tied = false;                       ///< a record ties the graph to a handle: the rest is known
  std::optional<std::uint64_t> begun;      ///< sequence of the begin of its capture
  std::uint64_t captured = 0;              ///< of the end of its capture, else of the record that ties it
  std::uint32_t capture = 0;               ///< the capture that it came of; 0 = not seen
  std::optional<std::uint64_t> destroyed;  ///< the graph itself; its execs live on
  bool updated = false;                    ///< an exec was updated and no record says from which graph
  std::vector<ExecLife> execs;
};

/// How a graph can still run after a moment of its timeline.
struct RunAfter {
  std::uint64_t launches = 0;       ///< since
  const ApiEvent* first = nullptr;  ///< of these
  bool exposed = false;             ///< none yet, but one may come
  [[nodiscard]] bool matters() const noexcept { return launches > 0 || exposed; }
};

/// After `sequence`. An exec that went without a launch since then exposed nothing: that is how a graph is captured
/// again, and how a program ends. A graph that was never instantiated nor destroyed still may be.
[[nodiscard]] RunAfter run_after(const GraphLife& life, std::uint64_t sequence);

/// One entry a graph of `recording`, in its order.
[[nodiscard]] std::vector<GraphLife> lives_of(const Recording& recording);

/// The lives of all graphs of a subject, by the index of SubjectView::graphs().
class GraphLives {
 public:
  explicit GraphLives(const SubjectView& view);

  /// Of the graph, or of the graph whose body it is; null when no timeline ties it to a handle.
  [[nodiscard]] const GraphLife* of(std::size_t index) const { return by_index_[index]; }

 private:
  std::map<const Recording*, std::vector<GraphLife>> lives_;
  std::vector<const GraphLife*> by_index_;
};

}  // namespace refrain
