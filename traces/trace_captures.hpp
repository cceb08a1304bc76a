// Which capture was open at each call of a trace. Profilers record neither a
// capture's mode nor its stream, so the windows come of the begin and end calls
// alone; a capture that the trace does not end is none, since everything after it
// would seem to be in it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "traces/trace_assembly.hpp"

namespace refrain {

struct TracedCapture {
  std::uint32_t id = 0;  ///< 1 is the first
  std::uint32_t process = 0, thread = 0;
  std::size_t begin = 0, end = 0;  ///< places among the calls
  /// Relaxed where an allocation passed that any other mode would have refused; else not known, and global stands.
  CaptureMode mode = CaptureMode::global;
};

/// The calls in order of time, each named in `apis`.
[[nodiscard]] std::vector<TracedCapture> captures_of_trace(const std::vector<TracedCall>& calls,
                                                           const std::vector<ApiName>& apis);

/// Goes along the calls in order.
class OpenCaptures {
 public:
  explicit OpenCaptures(const std::vector<TracedCapture>& captures) : captures_(captures) {}

  /// The capture that the call is part of: its own thread's, else the latest of its process; null = none.
  [[nodiscard]] const TracedCapture* at(std::size_t index, const TracedCall& call);

 private:
  const std::vector<TracedCapture>& captures_;
  std::size_t next_ = 0;
  std::vector<const TracedCapture*> open_;
};

/// A thread's exchanges of the capture mode come in pairs: to relaxed and back.
class Exchanges {
 public:
  /// The mode that this exchange asks for.
  CaptureMode exchange(std::uint32_t thread) {
    relaxed_[thread] = !relaxed_[thread];
    return relaxed_[thread] ? CaptureMode::relaxed : CaptureMode::global;
  }
  [[nodiscard]] bool relaxed(std::uint32_t thread) const {
    const auto at = relaxed_.find(thread);
    return at != relaxed_.end() && at->second;
  }

 private:
  std::unordered_map<std::uint32_t, bool> relaxed_;
};

}  // namespace refrain
