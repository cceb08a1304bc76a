#include "runtime/recording_driver.hpp"

#include <algorithm>
#include <utility>

namespace refrain {

std::uint64_t RecordingDriver::now_ns() const {
  const auto since = std::chrono::steady_clock::now() - start_;
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(since).count());
}

std::uint32_t RecordingDriver::thread_number() {
  return threads_.try_emplace(std::this_thread::get_id(), static_cast<std::uint32_t>(threads_.size() + 1))
      .first->second;
}

Timeline RecordingDriver::timeline() const {
  const std::lock_guard lock(mutex_);
  return timeline_;
}

Status RecordingDriver::submit(Call& call) {
  const std::uint64_t begin_ns = now_ns();
  const Status status = inner_.submit(call);
  const std::lock_guard lock(mutex_);
  write(call, status, begin_ns);
  return status;
}

/// The capture of the call's own stream, else the one that began last: its window is open while the call runs.
const RecordingDriver::OpenCapture* RecordingDriver::capture_for(const Call& call) const {
  const auto own =
      std::find_if(open_.begin(), open_.end(), [&](const OpenCapture& c) { return c.stream == call.stream.id; });
  if (own != open_.end()) return &*own;
  return open_.empty() ? nullptr : &open_.back();
}

void RecordingDriver::write(const Call& call, Status status, std::uint64_t begin_ns) {
  if (call.api == Api::begin_capture && status == Status::success)
    open_.push_back({++captures_, call.stream.id, call.mode});
  ApiEvent event;
  event.sequence = timeline_.calls.size() + 1;
  event.start_ns = begin_ns;
  event.end_ns = now_ns();
  event.thread = thread_number();
  event.stream = static_cast<std::uint32_t>(call.stream.id);
  event.api = call.api;
  event.target = call.target;
  event.code = static_cast<int>(status);
  event.address = call.address;
  event.source = call.source;
  event.bytes = call.bytes;
  if (call.op != nullptr) event.detail = call.op->name;
  if (const OpenCapture* capture = capture_for(call)) {
    event.capture = capture->id;
    event.mode = capture->mode;
  }
  timeline_.calls.push_back(std::move(event));
  const bool ended =
      call.api == Api::end_capture && status != Status::illegal_state && status != Status::capture_unmatched;
  if (ended) std::erase_if(open_, [&](const OpenCapture& c) { return c.stream == call.stream.id; });
}

}  // namespace refrain
