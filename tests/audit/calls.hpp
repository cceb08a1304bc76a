// Timelines for the tests, written call by call; sequence numbers rise by one.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "traces/recording.hpp"

namespace refrain::test {

class Calls {
 public:
  /// The event may still be changed through the reference until the next call is added.
  ApiEvent& call(Api api, std::uint32_t stream = 0, std::uint64_t object = 0, std::uint64_t made = 0) {
    ApiEvent event;
    event.sequence = ++sequence_;
    event.thread = 1;
    event.api = api;
    event.stream = stream;
    event.object = object;
    event.made = made;
    recording.timeline.calls.push_back(event);
    return recording.timeline.calls.back();
  }
  /// Ties the handle to a graph that is added to the recording.
  void graph(std::uint64_t handle, Graph graph = {}) {
    recording.timeline.graphs.push_back({++sequence_, handle, static_cast<std::uint32_t>(recording.graphs.size())});
    recording.graphs.push_back(std::move(graph));
  }
  [[nodiscard]] std::uint64_t now() const noexcept { return sequence_; }

  Recording recording{"calls", {}, {}, true};

 private:
  std::uint64_t sequence_ = 0;
};

}  // namespace refrain::test
