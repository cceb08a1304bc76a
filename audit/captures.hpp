// The captures of a timeline, each with the calls made while it was open and the
// first one that killed it. Rules of groups 1, 2 and 5 share this, and one
// function says which rule owns a call that broke a capture: so a violation is
// one finding, and its consequences (the 901s that follow) are none.
#pragma once

#include <cstdint>
#include <vector>

#include "traces/call_kinds.hpp"
#include "traces/timeline.hpp"

namespace refrain {

struct CaptureWindow {
  std::uint32_t id = 0;
  std::uint32_t thread = 0, stream = 0;
  CaptureMode mode = CaptureMode::global;
  const ApiEvent* begin = nullptr;      ///< null when the recording began inside the capture
  const ApiEvent* end = nullptr;        ///< null when it was never ended
  std::vector<const ApiEvent*> calls;   ///< by any thread, begin and end included, in order
  const ApiEvent* violation = nullptr;  ///< the first call that invalidated it, or its end when that failed by itself

  /// The calls after the violation that came back 901.
  [[nodiscard]] std::size_t consequences() const;
};

[[nodiscard]] std::vector<CaptureWindow> captures_of(const Timeline& timeline);

/// What kind of fault broke a capture; each has one rule.
enum class ViolationKind : std::uint8_t {
  sync,           ///< RF101: a host sync or query by the capturing thread
  allocation,     ///< RF201: an allocation or free by the capturing thread
  legacy_stream,  ///< RF504: 906, work on the legacy stream beside a blocking capture stream
  cross_thread,   ///< RF503: any refused call of another thread
  module_load,    ///< RF506
  other,          ///< RF505: unjoined, isolation, merge, nested launch, wrong thread ...
};
[[nodiscard]] ViolationKind kind_of(const CaptureWindow& window);

}  // namespace refrain
