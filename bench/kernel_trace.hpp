// When each kernel of a replay began and ended, node by node, from CUPTI's activity
// records. Tracing slows launches down and is never wholly gone again: what is timed
// from outside is timed before. It knows no graph.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace refrain::bench {

struct KernelTime {
  std::uint64_t start_ns = 0, end_ns = 0;
};

class KernelTrace {
 public:
  /// Of all graphs that are instantiated from here on, once a process. Nothing, and the reason, without CUPTI.
  [[nodiscard]] static std::optional<KernelTrace> start(std::string& reason);
  /// The kernels that ended since the last call, by their start. The device must be idle.
  [[nodiscard]] std::vector<KernelTime> take();

 private:
  KernelTrace() = default;
};

}  // namespace refrain::bench
