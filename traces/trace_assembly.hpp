// Puts a profiler's tables together: calls, device work, syncs, memory and ranges
// come in any order, are joined on (process, correlation id), and leave as one
// timeline in order of time. What a call did is told by its name and by the device
// work that it handed out, never by a profiler's own word for it. It knows no file
// format. Most of a trace is work: it is here once, joined by a key of 16 bytes, and
// goes to the sink as it stands, so the peak is near 100 bytes an event. What lies
// above is the growing of these tables, whose size no reader knows beforehand.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "traces/api_names.hpp"
#include "traces/sink.hpp"

namespace refrain {

/// A call and its device work have the same one; 0 is none. The process is dense.
struct CorrelationKey {
  std::uint32_t process = 0, id = 0;
  auto operator<=>(const CorrelationKey&) const = default;
};

struct TracedCall {
  std::uint64_t start_ns = 0, end_ns = 0;
  CorrelationKey key;
  std::uint32_t thread = 0;
  std::uint32_t name = 0;  ///< of TraceAssembly::name
  std::int32_t code = 0;
};

struct TracedWork {
  WorkEvent event;  ///< with the name of TraceAssembly::name; `call` is not set
  CorrelationKey key;
  std::uint32_t exec = 0;  ///< id of the graph exec that ran it; 0 = none, or not recorded
};

/// What joins a piece of work with its call. It is sorted in place of the work, which is five times as large.
struct WorkKey {
  CorrelationKey key;
  std::uint32_t exec = 0;
  std::uint32_t work = 0;  ///< its place among the work
};

struct TracedRange {
  std::uint64_t start_ns = 0, end_ns = 0;
  std::uint32_t thread = 0, name = 0;
};

/// What few ranges have, beside the one that was collected last.
struct RangeNote {
  std::size_t range = 0;  ///< its place among the ranges
  RowCounts rows;
  bool step = false;
};

/// What a table beside the calls says about one of them.
struct CallFacts {
  CorrelationKey key;
  std::uint64_t object = 0;   ///< an event's id
  std::uint64_t address = 0;  ///< that was allocated or freed
  std::uint64_t bytes = 0;
  std::uint32_t stream = kUnknownStream;
  MemorySpace space = MemorySpace::unknown;
};

/// A graph exec that a thread made at that time, by the call that was then in progress.
struct MadeExec {
  std::uint64_t time_ns = 0;
  std::uint32_t thread = 0, exec = 0;
};

/// A graph node that a thread made at that time: one of its own, or a clone.
struct TracedNode {
  std::uint64_t node = 0;
  std::uint64_t original = 0;  ///< 0: it is no clone
  std::uint64_t time_ns = 0;
  std::uint32_t process = 0, thread = 0;
};

/// All that was collected; what the emission works on.
struct TraceTables {
  std::vector<std::string> names;
  std::vector<TracedCall> calls;
  std::vector<WorkEvent> work;
  std::vector<WorkKey> work_keys;
  std::vector<TracedRange> ranges;
  std::vector<RangeNote> notes;  ///< in the order of the ranges
  std::vector<CallFacts> facts;
  std::vector<MadeExec> made;
  std::vector<TracedNode> nodes;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> null_streams;  ///< process, stream
  std::uint64_t origin_ns = 0;                                        ///< time 0 of the timeline
};

class TraceAssembly {
 public:
  TraceAssembly();

  [[nodiscard]] std::uint32_t name(std::string_view text);
  [[nodiscard]] const std::string& text(std::uint32_t name) const { return tables_.names[name]; }
  /// Dense ids from a profiler's own, 1 first.
  [[nodiscard]] std::uint32_t process(std::uint64_t pid);
  [[nodiscard]] std::uint32_t thread(std::uint64_t pid, std::uint64_t tid);

  /// Calls that no rule asks about are left out.
  void call(const TracedCall& call);
  void work(const TracedWork& work) {
    tables_.work_keys.push_back({work.key, work.exec, static_cast<std::uint32_t>(tables_.work.size())});
    tables_.work.push_back(work.event);
  }
  void range(const TracedRange& range) { tables_.ranges.push_back(range); }
  /// Of the range that came last; at most once for each.
  void note(const RowCounts& rows, bool step) {
    if (step || rows != RowCounts{}) tables_.notes.push_back({tables_.ranges.size() - 1, rows, step});
  }
  void facts(const CallFacts& facts) { tables_.facts.push_back(facts); }
  void made(const MadeExec& made) { tables_.made.push_back(made); }
  void node(const TracedNode& node) { tables_.nodes.push_back(node); }
  void null_stream(std::uint32_t process, std::uint32_t stream) { tables_.null_streams.emplace_back(process, stream); }

  /// Calls whose name the profiler could not tell.
  [[nodiscard]] std::uint64_t unnamed_calls() const noexcept { return unnamed_; }

  /// Everything into the sink, then the limits that the joining showed; not the sink's end. `from_first`: times count
  /// from the first event, else they stay. Once.
  void emit(RecordSink& sink, bool from_first);

 private:
  TraceTables tables_;
  std::unordered_map<std::string, std::uint32_t, TextHash, std::equal_to<>> name_ids_;
  std::vector<std::int8_t> known_;  // by name: 0 not looked up, 1 an API of the table, -1 another
  std::map<std::uint64_t, std::uint32_t> processes_;
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint32_t> threads_;
  std::uint64_t unnamed_ = 0;
};

}  // namespace refrain
