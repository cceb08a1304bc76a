// The streams that were forked into a capture and not joined to its own stream
// when it ended. It follows records and waits by the calls alone; an external
// record makes a node and joins nothing.
#pragma once

#include <cstdint>
#include <vector>

#include "audit/captures.hpp"

namespace refrain {

struct OpenFork {
  std::uint32_t stream = 0;
  const ApiEvent* fork = nullptr;  ///< the wait that made the stream part of the capture
  const ApiEvent* last = nullptr;  ///< its last work in the capture; null when it had none
  bool external = false;           ///< an external event was recorded on it
};

/// By stream.
[[nodiscard]] std::vector<OpenFork> unjoined_forks(const CaptureWindow& capture);

}  // namespace refrain
