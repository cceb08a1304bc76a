#include "audit/rules/unjoined.hpp"

#include <algorithm>
#include <map>

namespace refrain {
namespace {

/// For each stream, the sequence number of its last call that is behind a point.
using Frontier = std::map<std::uint32_t, std::uint64_t>;

class Joins {
 public:
  explicit Joins(std::uint32_t origin) : origin_(origin) { seen_[origin]; }

  void follow(const ApiEvent& call) {
    if (call.code != 0) return;
    switch (call.api) {
      case Api::event_record:
        if (seen_.contains(call.stream)) events_[call.object] = seen_[call.stream];
        break;
      case Api::event_record_external:
        if (forks_.contains(call.stream)) forks_[call.stream].external = true;
        break;
      case Api::stream_wait_event: wait(call); break;
      default:
        if (is_launch(call.api) || is_async_copy(call.api)) work(call);
    }
  }

  std::vector<OpenFork> open() {
    std::vector<OpenFork> out;
    for (const auto& [stream, fork] : forks_)
      if (seen_[origin_][stream] < seen_[stream][stream]) out.push_back(fork);
    return out;
  }

 private:
  void wait(const ApiEvent& call) {
    const auto event = events_.find(call.object);
    if (event == events_.end()) return;
    if (!seen_.contains(call.stream)) {
      forks_[call.stream] = {call.stream, &call, nullptr, false};
      seen_[call.stream][call.stream] = call.sequence;
    }
    Frontier& own = seen_[call.stream];
    for (const auto& [stream, sequence] : event->second) own[stream] = std::max(own[stream], sequence);
  }

  void work(const ApiEvent& call) {
    const auto own = seen_.find(call.stream);
    if (own == seen_.end()) return;
    own->second[call.stream] = call.sequence;
    if (const auto fork = forks_.find(call.stream); fork != forks_.end()) fork->second.last = &call;
  }

  std::uint32_t origin_;
  std::map<std::uint32_t, Frontier> seen_;
  std::map<std::uint64_t, Frontier> events_;
  std::map<std::uint32_t, OpenFork> forks_;
};

}  // namespace

std::vector<OpenFork> unjoined_forks(const CaptureWindow& capture) {
  Joins joins(capture.stream);
  for (const ApiEvent* call : capture.calls) joins.follow(*call);
  return joins.open();
}

}  // namespace refrain
