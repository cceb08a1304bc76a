#include "traces/trace_captures.hpp"

#include <algorithm>

namespace refrain {
namespace {

/// The place of the open capture that an end by this thread closes; relaxed ones may end on another thread.
std::size_t ended_by(const std::vector<TracedCapture>& open, const TracedCall& call) {
  for (const bool own : {true, false})
    for (std::size_t i = open.size(); i-- > 0;)
      if (open[i].process == call.key.process && (!own || open[i].thread == call.thread)) return i;
  return open.size();
}

}  // namespace

std::vector<TracedCapture> captures_of_trace(const std::vector<TracedCall>& calls, const std::vector<ApiName>& apis) {
  std::vector<TracedCapture> open, whole;
  Exchanges exchanges;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const TracedCall& call = calls[i];
    const Api api = apis[call.name].api;
    if (api == Api::exchange_capture_mode) (void)exchanges.exchange(call.thread);
    if (api == Api::begin_capture && call.code == 0)
      open.push_back({0, call.key.process, call.thread, i, i, CaptureMode::global});
    const bool on_stream = api == Api::malloc_async || api == Api::free_async;
    if (is_memory_call(api) && !on_stream && call.code == 0 && !exchanges.relaxed(call.thread))
      for (TracedCapture& capture : open)
        if (capture.thread == call.thread) capture.mode = CaptureMode::relaxed;
    if (api != Api::end_capture) continue;
    const std::size_t ended = ended_by(open, call);
    if (ended == open.size()) continue;
    open[ended].end = i;
    whole.push_back(open[ended]);
    open.erase(open.begin() + static_cast<std::ptrdiff_t>(ended));
  }
  std::sort(whole.begin(), whole.end(),
            [](const TracedCapture& a, const TracedCapture& b) { return a.begin < b.begin; });
  for (std::size_t i = 0; i < whole.size(); ++i) whole[i].id = static_cast<std::uint32_t>(i + 1);
  return whole;
}

const TracedCapture* OpenCaptures::at(std::size_t index, const TracedCall& call) {
  std::erase_if(open_, [&](const TracedCapture* capture) { return capture->end < index; });
  while (next_ < captures_.size() && captures_[next_].begin <= index) open_.push_back(&captures_[next_++]);
  for (const bool own : {true, false})
    for (std::size_t i = open_.size(); i-- > 0;)
      if (open_[i]->process == call.key.process && (!own || open_[i]->thread == call.thread)) return open_[i];
  return nullptr;
}

}  // namespace refrain
