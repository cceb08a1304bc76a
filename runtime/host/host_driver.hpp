// The driver for a machine without a GPU, and the embedded default: memory is
// the heap, work runs at once and in order, graphs replay with the host twins.
// It answers every row of graphs/capture_rules as CUDA does, the silent ones
// too, so capture safety is tested where there is no GPU. Thread-safe.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <unordered_map>

#include "runtime/driver.hpp"
#include "runtime/host/host_graph.hpp"
#include "runtime/host/host_reservations.hpp"

namespace refrain {

class HostDriver final : public Driver {
 public:
  HostDriver();
  ~HostDriver() override;

  [[nodiscard]] DeviceInfo device() const override;
  [[nodiscard]] Status submit(Call& call) override;
  [[nodiscard]] Status introspect(GraphHandle graph, Introspection& out) override;
  [[nodiscard]] Status identify(Address address, Buffer& out) override;

  /// What is alive, for tests that look for leaks.
  struct Census {
    std::size_t allocations = 0, streams = 0, events = 0, graphs = 0, execs = 0, captures = 0;
    friend bool operator==(const Census&, const Census&) = default;
  };
  [[nodiscard]] Census census() const;

 private:
  struct Block {
    std::shared_ptr<std::byte[]> memory;  // shared with the graphs that made it, if one did
    MemorySpace space = MemorySpace::device;
    std::uint64_t bytes = 0;  // as asked for
    std::uint64_t id = 0;     // of no other block, ever
  };
  struct StreamState {
    bool blocking = false;
  };
  struct EventState {
    std::uint64_t capture = 0;  // the capture it was last recorded in; 0 = outside
    std::vector<std::uint64_t> nodes;
  };
  struct Verdict {
    Answer answer;
    std::uint64_t capture = 0;
  };

  std::uint32_t thread_number();
  std::uint64_t capture_of(Stream stream) const;
  Target target_of(const Call& call, const HostCapture& capture, std::uint64_t id) const;
  std::optional<Verdict> judge(const Call& call, std::uint32_t thread) const;
  Answer answer_of(const CaptureRule& rule, const HostCapture& capture, std::uint32_t thread) const;

  Status execute(Call& call, std::uint32_t thread);
  Status execute_memory(Call& call);
  Status execute_stream_or_event(Call& call);
  Status execute_wait(const Call& call);
  Status execute_graph(Call& call);
  Status execute_work(const Call& call) const;
  Status begin(const Call& call, std::uint32_t thread);
  Status end(Call& call, std::uint32_t thread);
  Status enqueue(Call& call, HostCapture& capture);
  Status take_memory(Call& call);

  mutable std::mutex mutex_;
  std::uint64_t next_id_ = 1;
  std::map<Address, Block> blocks_;
  HostReservations reservations_;
  std::unordered_map<std::uint64_t, StreamState> streams_;
  std::unordered_map<std::uint64_t, EventState> events_;
  std::unordered_map<std::uint64_t, HostGraph> graphs_, execs_;
  std::map<std::uint64_t, HostCapture> captures_;
  std::unordered_map<std::thread::id, std::uint32_t> threads_;
  std::unordered_map<std::uint32_t, CaptureMode> thread_modes_;
};

}  // namespace refrain
