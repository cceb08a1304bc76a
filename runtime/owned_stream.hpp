// A stream with an owner, which waits for what was enqueued before it goes. Declared
// behind an arena, it ends ahead of it: what runs on the arena's memory has to be done
// by then, also where an exception unwinds, for unmapping memory waits for nothing and a
// kernel or memset still under way takes the whole context with it.
#pragma once

#include "runtime/driver.hpp"

namespace refrain {

/// For who ends: while it lives, this thread's calls break no global capture of another stream, of whichever thread, as
/// waiting and destroying graphs would in any other mode.
class RelaxedCaptureMode {
 public:
  explicit RelaxedCaptureMode(Driver& driver);
  ~RelaxedCaptureMode();
  RelaxedCaptureMode(const RelaxedCaptureMode&) = delete;
  RelaxedCaptureMode& operator=(const RelaxedCaptureMode&) = delete;

 private:
  Driver& driver_;
  CaptureMode mode_ = CaptureMode::relaxed;  ///< then that before
  bool exchanged_;
};

class OwnedStream {
 public:
  /// Throws Error{driver}. The driver outlives it.
  explicit OwnedStream(Driver& driver);
  /// In the way of no capture but one of this stream itself.
  ~OwnedStream();
  OwnedStream(const OwnedStream&) = delete;
  OwnedStream& operator=(const OwnedStream&) = delete;

  operator Stream() const noexcept { return stream_; }  // NOLINT(google-explicit-constructor): it is one, with an owner

 private:
  Driver& driver_;
  Stream stream_;
};

}  // namespace refrain
