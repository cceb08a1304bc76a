#include "runtime/capture.hpp"

namespace refrain {

Captured::~Captured() {
  if (driver_ != nullptr) (void)driver_->destroy(handle_);
}

CaptureScope::CaptureScope(Recorder& recorder, CaptureMode mode)
    : recorder_(recorder), shown_(recorder.driver(), "capture"), stream_(recorder.stream()), mode_(mode) {
  check(recorder_.driver().begin_capture(stream_, mode_), "cudaStreamBeginCapture");
  recorder_.start_capture();
}

CaptureScope::~CaptureScope() {
  recorder_.stop_capture();
  if (!open_) return;
  GraphHandle graph;
  if (recorder_.driver().end_capture(stream_, graph) == Status::success) (void)recorder_.driver().destroy(graph);
}

Captured CaptureScope::finish(std::string name, CaptureInfo info) {
  open_ = false;
  recorder_.stop_capture();
  Driver& driver = recorder_.driver();
  GraphHandle handle;
  check(driver.end_capture(stream_, handle), "cudaStreamEndCapture");
  Captured captured(driver, handle);
  Introspection inside;
  check(driver.introspect(handle, inside), "reading the captured graph");
  captured.graph = recorder_.describe(inside);
  captured.graph.name = std::move(name);
  const DeviceInfo device = driver.device();
  info.mode = to_string(mode_);
  info.device = device.device;
  info.driver = device.driver;
  info.toolkit = device.toolkit;
  const std::vector<Unseen>& unseen = captured.graph.capture.unseen;
  info.unseen.insert(info.unseen.end(), unseen.begin(), unseen.end());
  captured.graph.capture = std::move(info);
  return captured;
}

GraphExec::GraphExec(Driver& driver, Arena& arena, const Captured& captured, Stream upload_stream)
    : driver_(&driver), nodes_(captured.graph.nodes.size()) {
  check(driver.instantiate(captured.handle(), exec_), "cudaGraphInstantiate");
  try {
    check(driver.upload(exec_, upload_stream), "cudaGraphUpload");
    holds_ = arena.hold(captured.graph);
  } catch (...) {
    (void)driver.destroy(exec_);
    throw;
  }
}

GraphExec::~GraphExec() {
  if (driver_ != nullptr) (void)driver_->destroy(exec_);
}

bool GraphExec::replace(Arena& arena, const Captured& captured, Stream upload_stream) {
  LeaseHolds holds = arena.hold(captured.graph);
  const bool updated = driver_->update(exec_, captured.handle()) == Status::success;
  if (!updated) {
    GraphExec fresh(*driver_, arena, captured, upload_stream);
    std::swap(exec_, fresh.exec_);
  }
  // Before the upload, which may fail: the exec has the new addresses baked in from here on.
  holds_ = std::move(holds);
  nodes_ = captured.graph.nodes.size();
  if (updated) check(driver_->upload(exec_, upload_stream), "cudaGraphUpload");
  return updated;
}

void GraphExec::launch(Stream stream) {
  holds_.require_awake();
  const ProfilerRange shown(*driver_, "replay", nodes_);
  check(driver_->launch(exec_, stream), "cudaGraphLaunch");
}

}  // namespace refrain
