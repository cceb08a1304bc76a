// Records straight into a file while the program runs. What is older than a second
// is on the disk at the next record, so a killed process leaves a recording that can
// be read. A disk that takes no more is told once and asked no more.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "traces/recording_writer.hpp"

namespace refrain {

class WritingSink final : public RecordSink {
 public:
  /// Throws Error{input} where the file cannot be made.
  WritingSink(std::string path, const RecordingHeader& header)
      : path_(std::move(path)), writer_(std::in_place, path_, header) {}

  void header(const RecordingHeader&) override {}
  void call(const ApiEvent& event, std::string_view detail) override {
    write([&] { writer_->append(event, detail); });
  }
  void range(const RangeEvent& event, std::string_view name) override {
    write([&] { writer_->append(event, name); });
  }
  void buffer(const Buffer& buffer) override {
    write([&] { writer_->append(buffer); });
  }
  void graph(Graph&& graph, std::optional<GraphTie> tie) override {
    write([&] { writer_->append(graph, tie); });
  }
  void binding(const BindingEvent& event, std::string_view name) override {
    write([&] { writer_->append(event, name); });
  }
  void check(const ReplayCheck& check, std::string_view graph, std::string_view axis, std::string_view fill) override {
    write([&] { writer_->append(check, graph, axis, fill); });
  }
  /// The auditor sees calls, not the device's work, and reads nothing that could be bad.
  void work(const WorkEvent&, std::string_view) override {}
  void graph_node(const GraphNodeEvent&) override {}
  void problem(const ReadProblem&) override {}
  void limit(const EvidenceLimit& limit) override {
    write([&] { writer_->append(limit); });
  }
  void end(bool complete) override;

  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  /// Why the file is not whole; empty when it is.
  [[nodiscard]] const std::string& failure() const noexcept { return failure_; }

 private:
  template <class Write>
  void write(Write&& append) {
    if (!writer_) return;
    try {
      append();
      flush_if_old();
    } catch (const std::exception& error) {
      failure_ = error.what();
    }
  }
  void flush_if_old();

  using Clock = std::chrono::steady_clock;
  std::string path_, failure_;
  std::optional<RecordingWriter> writer_;
  Clock::time_point flushed_ = Clock::now();
  std::uint64_t flushed_records_ = 0;
};

}  // namespace refrain
