// The sink that makes a Recording. It interns names, counts problems by their
// name and brings the records into sequence order, since threads may have written
// theirs out of it. It judges nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>

#include "traces/recording.hpp"
#include "traces/sink.hpp"

namespace refrain {

class TimelineBuilder final : public RecordSink {
 public:
  void header(const RecordingHeader& header) override;
  void expect(std::size_t calls, std::size_t ranges) override;
  void call(const ApiEvent& event, std::string_view detail) override;
  void range(const RangeEvent& event, std::string_view name) override;
  void buffer(const Buffer& buffer) override;
  void graph(Graph&& graph, std::optional<GraphTie> tie) override;
  void binding(const BindingEvent& event, std::string_view name) override;
  void check(const ReplayCheck& check, std::string_view graph, std::string_view axis, std::string_view fill) override;
  void work(const WorkEvent& event, std::string_view name) override;
  void all_work(std::vector<WorkEvent>&& events, std::span<const std::string> names) override;
  void graph_node(const GraphNodeEvent& node) override;
  void limit(const EvidenceLimit& limit) override;
  void problem(const ReadProblem& problem) override;
  void end(bool complete) override;

  [[nodiscard]] const DeviceLine& device() const noexcept { return device_; }
  /// What was read; its name is the header's. Once, after end.
  [[nodiscard]] Recording take();

 private:
  Recording recording_;
  Interner names_{recording_.timeline};
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::size_t> ties_;  // sequence and handle, to the graph
  DeviceLine device_;
};

}  // namespace refrain
