// Where a reader puts what it reads: one record at a time, copied at the
// boundary, so that no reader holds a whole file. A reader calls header first and
// once, then the records in the order of the file, then end once. Strings and
// views are valid during the call only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graphs/graph.hpp"
#include "traces/timeline.hpp"

namespace refrain {

/// The machine that a recording was made on, in the words of its driver.
struct DeviceLine {
  std::string kind;    ///< `host` or `cuda`
  std::string device;  ///< a name for people
  std::string driver, toolkit;
};

struct RecordingHeader {
  std::string name;  ///< what was run
  DeviceLine device;
  StepBasis step_basis{};  ///< how the ranges that are steps became known: marked, unless the timeline was cut
};

/// The call after which a graph was seen, and the handle that the calls know it by.
struct GraphTie {
  std::uint64_t sequence = 0;
  std::uint64_t handle = 0;
};

/// The string ids inside the events are not set: the texts stand beside them. A sink does not throw Error: a reader
/// would take it for a bad record.
struct RecordSink {
  RecordSink() = default;
  RecordSink(const RecordSink&) = delete;
  RecordSink& operator=(const RecordSink&) = delete;
  virtual ~RecordSink() = default;

  virtual void header(const RecordingHeader& header) = 0;
  /// No more than these are to come, from a reader that knows it: a sink that keeps them makes room once.
  virtual void expect([[maybe_unused]] std::size_t calls, [[maybe_unused]] std::size_t ranges) {}
  virtual void call(const ApiEvent& event, std::string_view detail) = 0;
  virtual void range(const RangeEvent& event, std::string_view name) = 0;
  virtual void buffer(const Buffer& buffer) = 0;
  /// Without a tie, no call of the timeline is known to have made the graph. One with the tie of a graph before it is
  /// that graph, told more fully, and stands in its place.
  virtual void graph(Graph&& graph, std::optional<GraphTie> tie) = 0;
  virtual void binding(const BindingEvent& event, std::string_view name) = 0;
  virtual void check(const ReplayCheck& check, std::string_view graph, std::string_view axis,
                     std::string_view fill) = 0;
  virtual void work(const WorkEvent& event, std::string_view name) = 0;
  /// Many at once, each with an index into `names` as its name: a sink that keeps them need not have them twice.
  virtual void all_work(std::vector<WorkEvent>&& events, std::span<const std::string> names) {
    for (const WorkEvent& event : events) work(event, names[event.name]);
  }
  virtual void graph_node(const GraphNodeEvent& node) = 0;
  /// Once for each name.
  virtual void limit(const EvidenceLimit& limit) = 0;
  /// One place that could not be read; the sink counts them by name.
  virtual void problem(const ReadProblem& problem) = 0;
  /// `complete`: everything that the writer meant to write was read.
  virtual void end(bool complete) = 0;
};

}  // namespace refrain
