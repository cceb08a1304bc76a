// What the steps of one stream stand on, in the order in which it must be made:
// the clock, the driver that writes every call down, the registry, the arena, the
// stream and its recorder. The parts are there to be used; the functions join those
// that have to know of each other. It holds no step and decides nothing.
#pragma once

#include <functional>
#include <string>

#include "audit/report.hpp"
#include "runtime/capture.hpp"
#include "runtime/owned_stream.hpp"
#include "runtime/recording_driver.hpp"

namespace refrain {

class Runtime {
 public:
  /// Takes no device memory yet: the arena has addresses for it. Throws Error{driver}. `inner` outlives it; what is
  /// made with it goes before it: leases, captures, graph execs.
  Runtime(Driver& inner, std::uint64_t arena_bytes, Overlays overlays = {});
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  /// Captures what `record` launches, under `name`, and adds the graph to the recording. An exception leaves no capture
  /// open; after an Error{driver}, audit() names the call that broke it.
  [[nodiscard]] Captured capture(std::string name, const std::function<void(Recorder&)>& record, CaptureInfo info = {},
                                 CaptureMode mode = CaptureMode::global);
  /// Instantiated and uploaded; holds the leases that it names. Throws Error{driver}.
  [[nodiscard]] GraphExec instantiate(const Captured& captured);
  /// One replay, waited for: what was written to device memory before is seen by it. Throws Error{driver}, and
  /// Error{refused} while the arena sleeps.
  void replay(GraphExec& exec);

  /// Everything seen so far.
  [[nodiscard]] Recording recording(std::string name) const { return driver.recording(std::move(name), registry); }
  /// Every rule over everything seen so far: a replay is judged with what was done before and after it.
  [[nodiscard]] Report audit(std::string name) const;

  SequenceClock clock;
  RecordingDriver driver;
  BufferRegistry registry{clock};
  Arena arena;
  OwnedStream stream;
  Recorder recorder;
};

}  // namespace refrain
