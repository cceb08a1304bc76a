// Timelines for the tests of steps and their figures, written call by call: times
// rise by 10 ns a call unless said, sequence numbers by one a record.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "traces/timeline.hpp"

namespace refrain::test {

class StepWorld {
 public:
  /// The call may still be changed through the reference until the next is added.
  ApiEvent& call(Api api, std::string_view detail = {}) {
    ApiEvent event;
    event.sequence = ++sequence_;
    event.start_ns = now_ns;
    event.end_ns = now_ns += 10;
    event.thread = thread;
    event.api = api;
    event.detail = Interner(timeline).id(detail);
    timeline.calls.push_back(event);
    return timeline.calls.back();
  }
  ApiEvent& launch(std::uint64_t exec) {
    ApiEvent& event = call(Api::graph_launch);
    event.object = exec;
    return event;
  }
  /// Work of the last call of any thread.
  WorkEvent& work(std::uint64_t start_ns, std::uint64_t end_ns, WorkKind kind = WorkKind::kernel) {
    WorkEvent event;
    event.start_ns = start_ns;
    event.end_ns = end_ns;
    event.call = timeline.calls.back().sequence;
    event.kind = kind;
    timeline.work.push_back(event);
    return timeline.work.back();
  }
  void open(std::string_view name) {
    RangeEvent range;
    range.first = ++sequence_;
    range.start_ns = now_ns;
    range.thread = thread;
    range.name = Interner(timeline).id(name);
    open_.push_back(range);
  }
  void close(bool step = false) {
    open_.back().last = ++sequence_;
    open_.back().end_ns = now_ns;
    open_.back().step = step;
    timeline.ranges.push_back(open_.back());
    open_.pop_back();
  }

  Timeline timeline;
  std::uint64_t now_ns = 0;
  std::uint32_t thread = 1;

 private:
  std::uint64_t sequence_ = 0;
  std::vector<RangeEvent> open_;
};

}  // namespace refrain::test
