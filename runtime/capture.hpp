// One stream capture, and what comes of it. CaptureScope is exception-safe: a
// throw inside ends the capture and frees the graph, and the exception that
// leaves is the first violation, not the 901 that CUDA gives at the end.
#pragma once

#include "runtime/arena.hpp"
#include "runtime/recorder.hpp"

namespace refrain {

/// A captured graph that is not instantiated yet. Move-only; destroys the driver's graph.
class Captured {
 public:
  Captured(Driver& driver, GraphHandle handle) : driver_(&driver), handle_(handle) {}
  Captured(Captured&& other) noexcept
      : graph(std::move(other.graph)), driver_(std::exchange(other.driver_, nullptr)), handle_(other.handle_) {}
  Captured& operator=(Captured&&) = delete;
  ~Captured();

  [[nodiscard]] GraphHandle handle() const noexcept { return handle_; }
  Graph graph;

 private:
  Driver* driver_;
  GraphHandle handle_;
};

class CaptureScope {
 public:
  /// Begins a capture on the recorder's stream. Throws Error{driver}.
  CaptureScope(Recorder& recorder, CaptureMode mode);
  CaptureScope(const CaptureScope&) = delete;
  CaptureScope& operator=(const CaptureScope&) = delete;
  ~CaptureScope();

  /// Ends the capture; `info` goes into the graph, completed with mode and device. Throws Error{driver}.
  [[nodiscard]] Captured finish(std::string name, CaptureInfo info);

 private:
  Recorder& recorder_;
  ProfilerRange shown_;
  Stream stream_;
  CaptureMode mode_;
  bool open_ = true;
};

/// An instantiated, uploaded graph with the leases that its nodes name. Move-only.
class GraphExec {
 public:
  /// Throws Error{driver}.
  GraphExec(Driver& driver, Arena& arena, const Captured& captured, Stream upload_stream);
  GraphExec(GraphExec&& other) noexcept
      : driver_(std::exchange(other.driver_, nullptr)),
        exec_(other.exec_),
        holds_(std::move(other.holds_)),
        nodes_(other.nodes_) {}
  GraphExec& operator=(GraphExec&&) = delete;
  ~GraphExec();

  /// From the next launch on, runs the nodes of `captured`: by an update of the exec, which keeps what it has, where
  /// CUDA can (the same nodes and edges with other parameters), else by a new instantiation. Holds the leases of
  /// `captured` in place of the old ones. Not while a launch of it is in flight. True when it was an update. Throws
  /// Error{driver}; then it is as it was, or it is updated and only its upload failed.
  bool replace(Arena& arena, const Captured& captured, Stream upload_stream);

  /// One cudaGraphLaunch. Stream-ordered. Throws Error{driver}.
  void launch(Stream stream);

 private:
  Driver* driver_;
  ExecHandle exec_;
  LeaseHolds holds_;
  std::uint64_t nodes_ = 0;
};

}  // namespace refrain
