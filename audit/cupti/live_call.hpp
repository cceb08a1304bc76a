// One side of one API callback of a running program, as plain data: what CUPTI
// hands over, decoded, with no type of CUDA's in it. Handles are the program's own
// numbers. What a call gives back (an address, a handle, its code) is filled on the
// exit side only.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "graphs/contract.hpp"
#include "traces/api_names.hpp"

namespace refrain {

/// What is watched beside the calls that the recording has a word for.
enum class LiveKind : std::uint8_t {
  call,
  graph_edit,   ///< nodes or edges of some graph were changed: none is what it was when it was read
  exec_edit,    ///< a node of the graph exec `object` was changed
  conditional,  ///< the node `made` was added to the graph `object`, and `bodies` are its bodies
};

struct LiveCall {
  LiveKind kind = LiveKind::call;
  ApiName name{};
  bool from_driver = false;  ///< a driver call: part of a runtime call where one is open on the same thread
  std::uint64_t correlation = 0;
  std::uint64_t thread = 0;  ///< the system's number
  std::uint64_t time_ns = 0;

  std::uint64_t stream = 0;  ///< handle; 0 and 1 the legacy stream, 2 the per-thread default stream
  bool per_thread = false;   ///< the call was compiled with per-thread default streams: 0 means 2
  std::uint64_t object = 0;  ///< event, graph or graph exec
  std::uint64_t made = 0;    ///< stream, event, graph or graph exec; of an update the graph
  Address address = 0, source = 0;
  std::uint64_t bytes = 0;
  CaptureMode mode = CaptureMode::global;
  bool external = false;  ///< an event's record or wait that makes a node
  std::int32_t code = 0;
  std::uint64_t function = 0;  ///< of a launch; any number that tells kernels apart
  std::string_view symbol{};   ///< of a launch: the kernel's mangled name
  std::vector<std::uint64_t> bodies{};
};

}  // namespace refrain
