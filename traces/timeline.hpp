// What happened, in order: the calls that a program made of the driver, as a
// RecordingDriver or CUPTI would see them. Plain values; rules judge them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "graphs/capture_rules.hpp"
#include "graphs/contract.hpp"

namespace refrain {

/// One call of the driver's API. Sequence numbers rise by one a call and order everything.
struct ApiEvent {
  std::uint64_t sequence = 0;
  std::uint64_t start_ns = 0, end_ns = 0;
  std::uint32_t thread = 0;  ///< dense: 1 is the first thread that was seen
  std::uint32_t stream = 0;  ///< the stream the call was aimed at; 0 = the legacy stream or none
  Api api = Api::launch_kernel;
  Target target = Target::none;
  std::int32_t code = 0;  ///< what the call returned
  Address address = 0;    ///< of the allocation, copy destination, graph ... that it names; 0 = none
  Address source = 0;     ///< of a copy
  std::uint64_t bytes = 0;
  std::optional<std::uint32_t> capture;    ///< the capture that was in progress when it was made
  CaptureMode mode = CaptureMode::global;  ///< of that capture
  std::string detail;                      ///< an op's name, a scope, a file; may be empty
};

struct Timeline {
  std::vector<ApiEvent> calls;
};

}  // namespace refrain
