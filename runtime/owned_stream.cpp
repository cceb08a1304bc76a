#include "runtime/owned_stream.hpp"

namespace refrain {

OwnedStream::OwnedStream(Driver& driver) : driver_(driver) {
  check(driver_.create_stream(stream_), "cudaStreamCreateWithFlags");
}

OwnedStream::~OwnedStream() {
  // Waiting would break a global capture of another stream, of whichever thread, in any other mode. A broken context
  // answers with errors: there is nobody to tell.
  CaptureMode mode = CaptureMode::relaxed;
  const bool exchanged = driver_.exchange_capture_mode(mode) == Status::success;
  (void)driver_.synchronize(stream_);
  if (exchanged) (void)driver_.exchange_capture_mode(mode);
  (void)driver_.destroy_stream(stream_);
}

}  // namespace refrain
