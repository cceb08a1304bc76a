#include "audit/cupti/live_captures.hpp"

#include <algorithm>

namespace refrain {

void LiveCaptures::begin(StreamKey stream, CaptureMode mode) {
  open_.push_back({++count_, stream, mode, false});
  streams_[stream] = count_;
}

void LiveCaptures::found(StreamKey stream, std::uint64_t id) {
  const auto [known, fresh] = found_.try_emplace(id, count_ + 1);
  if (fresh) open_.push_back({++count_, stream, CaptureMode::global, true});
  streams_[stream] = known->second;
}

void LiveCaptures::end(StreamKey stream) {
  const auto own = streams_.find(stream);
  const auto ended = std::find_if(open_.begin(), open_.end(), [&](const Open& o) {
    return o.stream == stream || (o.found && own != streams_.end() && own->second == o.id);
  });
  if (ended == open_.end()) return;
  std::erase_if(streams_, [&](const auto& entry) { return entry.second == ended->id; });
  open_.erase(ended);
}

void LiveCaptures::record(StreamKey stream, std::uint64_t event) {
  if (const auto own = streams_.find(stream); own != streams_.end())
    events_[event] = own->second;
  else
    events_.erase(event);
}

void LiveCaptures::wait(StreamKey stream, std::uint64_t event) {
  const auto known = events_.find(event);
  if (known == events_.end()) return;
  // An event of a capture that has ended joins nothing.
  if (std::any_of(open_.begin(), open_.end(), [&](const Open& o) { return o.id == known->second; }))
    streams_.try_emplace(stream, known->second);
}

const LiveCaptures::Open* LiveCaptures::at(std::optional<StreamKey> stream) const {
  if (open_.empty()) return nullptr;
  if (stream)
    if (const auto own = streams_.find(*stream); own != streams_.end()) {
      const auto found = std::find_if(open_.begin(), open_.end(), [&](const Open& o) { return o.id == own->second; });
      if (found != open_.end()) return &*found;
    }
  return &open_.back();
}

}  // namespace refrain
