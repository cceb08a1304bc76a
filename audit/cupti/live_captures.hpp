// Which captures are open, and which streams and events belong to them: followed by
// the calls, as RecordingDriver does, and of captures that were open before by what the
// driver says of a stream. A wait for a captured event joins the stream to that capture.
// Streams are named by a key that tells the per-thread default streams of two threads
// apart.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "graphs/capture_rules.hpp"

namespace refrain {

using StreamKey = std::uint64_t;
/// No handle has this value: an event that is recorded there is in no capture.
inline constexpr StreamKey kNoStream = ~StreamKey{0};

class LiveCaptures {
 public:
  struct Open {
    std::uint32_t id = 0;  ///< 1 is the first
    StreamKey stream = 0;
    CaptureMode mode = CaptureMode::global;
    bool found = false;  ///< it was open already: its begin, mode and first stream are not known
  };

  void begin(StreamKey stream, CaptureMode mode);
  /// The stream is in a capture that began before anyone listened; `id` is the driver's.
  void found(StreamKey stream, std::uint64_t id);
  /// The capture of that stream, if there is one, is over.
  void end(StreamKey stream);
  void record(StreamKey stream, std::uint64_t event);
  void wait(StreamKey stream, std::uint64_t event);

  [[nodiscard]] bool any() const noexcept { return !open_.empty(); }
  [[nodiscard]] bool holds(StreamKey stream) const { return streams_.contains(stream); }
  /// The stream's own capture, else the one that began last; null when none is open.
  [[nodiscard]] const Open* at(std::optional<StreamKey> stream) const;

 private:
  std::vector<Open> open_;
  std::unordered_map<StreamKey, std::uint32_t> streams_;
  std::unordered_map<std::uint64_t, std::uint32_t> found_;  // by the driver's id
  std::unordered_map<std::uint64_t, std::uint32_t> events_;
  std::uint32_t count_ = 0;
};

}  // namespace refrain
