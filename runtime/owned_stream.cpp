#include "runtime/owned_stream.hpp"

namespace refrain {

RelaxedCaptureMode::RelaxedCaptureMode(Driver& driver)
    : driver_(driver), exchanged_(driver.exchange_capture_mode(mode_) == Status::success) {}

RelaxedCaptureMode::~RelaxedCaptureMode() {
  if (exchanged_) (void)driver_.exchange_capture_mode(mode_);
}

OwnedStream::OwnedStream(Driver& driver) : driver_(driver) {
  check(driver_.create_stream(stream_), "cudaStreamCreateWithFlags");
}

OwnedStream::~OwnedStream() {
  const RelaxedCaptureMode relaxed(driver_);
  (void)driver_.synchronize(stream_);  // a broken context answers with errors: there is nobody to tell
  (void)driver_.destroy_stream(stream_);
}

}  // namespace refrain
