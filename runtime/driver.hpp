// The one virtual seam at the outside world. Every call to CUDA, or to the
// host's stand-in for it, is a Call that goes through submit(): so a decorator
// that records, counts or fails calls is one function, and a call that the
// runtime itself never makes (api) is judged like any other. No CUDA type here.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "graphs/capture_rules.hpp"
#include "graphs/graph.hpp"
#include "runtime/status.hpp"
#include "traces/sink.hpp"

namespace refrain {

/// Handles are numbers that only their driver understands; 0 is none (for a stream: the legacy stream).
struct Stream {
  std::uint64_t id = 0;
  friend bool operator==(Stream, Stream) = default;
};
struct Event {
  std::uint64_t id = 0;
};
struct GraphHandle {
  std::uint64_t id = 0;
};
struct ExecHandle {
  std::uint64_t id = 0;
};

/// One launch of an op, its Args bound: what the host driver runs and what the CUDA driver enqueues. With neither it is
/// a kernel that touches nothing; with `host` alone the CUDA driver refuses it (801).
struct OpLaunch {
  const char* name = "";
  std::function<void()> host;
  std::function<void(void* stream)> device;  ///< empty in a build without CUDA
  bool early = false;  ///< it starts while the kernel ahead of it runs: a programmatic edge in a capture
  /// The Args as bytes, padding zero: what a graph bakes. The host driver shows them as the node's one parameter;
  /// CUDA's introspection sees the kernels' own.
  std::vector<std::uint8_t> args{};
};

/// One call of the driver's API. In: what `api` needs of the fields. Out: the handle or address it makes.
struct Call {
  Api api = Api::launch_kernel;
  Target target = Target::none;  ///< only for calls without a stream or event of their own
  Stream stream{};
  Event event{};
  Address address = 0;  ///< allocation, or destination
  Address source = 0;
  std::uint64_t bytes = 0;                         ///< mem_get_info out: the free ones
  MemorySpace space = MemorySpace::device;         ///< of `address`
  MemorySpace source_space = MemorySpace::device;  ///< of `source`
  std::uint8_t value = 0;                          ///< of a memset
  bool blocking = false;                           ///< stream_create: synchronises with the legacy stream
  CaptureMode mode = CaptureMode::global;          ///< begin_capture in; exchange_capture_mode in and out
  GraphHandle graph{};
  ExecHandle exec{};
  const OpLaunch* op = nullptr;
  std::vector<std::uint64_t>* nodes =
      nullptr;  ///< stream_get_capture_info out: the nodes that the next one will depend on
};

/// A captured graph as data. `handles[i]` is what stream_get_capture_info called node i.
struct Introspection {
  Graph graph;
  std::vector<std::uint64_t> handles;
};

/// kind `host` or `cuda`, and names for people.
using DeviceInfo = DeviceLine;

class Driver {
 public:
  Driver() = default;
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;
  virtual ~Driver() = default;

  [[nodiscard]] virtual DeviceInfo device() const = 0;
  /// Carries out one call, keeping CUDA's capture rules. Thread-safe. Never throws for a refused call: it returns the
  /// code.
  [[nodiscard]] virtual Status submit(Call& call) = 0;
  [[nodiscard]] virtual Status introspect(GraphHandle graph, Introspection& out) = 0;
  /// The allocation that holds `address` at this moment: base, bytes, space and `allocation`, a driver_allocation()
  /// that no other allocation of the process ever has (CUDA's BUFFER_ID). invalid_value for memory that the driver does
  /// not know, freed memory and pageable memory among it. Allowed during a capture.
  [[nodiscard]] virtual Status identify(Address address, Buffer& out) = 0;

  /// A named span of this thread for a profiler's timeline (NVTX, domain `refrain`), until its end_range(); nested ones
  /// end in reverse order. `payload` is a count that goes with it: rows, or nodes. Allowed during a capture; costs
  /// nothing where no profiler is attached.
  virtual void begin_range([[maybe_unused]] const char* name, [[maybe_unused]] std::uint64_t payload) noexcept {}
  virtual void end_range() noexcept {}

  /// A call that the runtime has no use for but that people make, e.g. Api::mem_get_info.
  [[nodiscard]] Status api(Api api, Stream stream = {}, Target target = Target::none);

  /// Free device memory (Api::mem_get_info), which other programs take and give back too; 0 where the driver has no
  /// device.
  [[nodiscard]] Status free_memory(std::uint64_t& bytes);

  // Memory. `space` is device, pinned or managed.
  [[nodiscard]] Status allocate(std::uint64_t bytes, MemorySpace space, Address& out);
  [[nodiscard]] Status release(Address address, MemorySpace space);

  // Virtual memory of the device: fixed addresses, whose memory comes and goes. `bytes` and addresses are multiples of
  // kMapGranularity. Mapped memory is fresh: it holds anything. All are allowed during a capture.
  static constexpr std::uint64_t kMapGranularity = std::uint64_t{2} << 20;
  [[nodiscard]] Status reserve(std::uint64_t bytes, Address& out);
  [[nodiscard]] Status unreserve(Address address, std::uint64_t bytes);
  /// Of a reservation: memory behind [address, address + bytes), readable and writable by the device.
  [[nodiscard]] Status map(Address address, std::uint64_t bytes);
  /// The memory that one map() put behind [of, of + bytes), all of it, behind [address, address + bytes) as well: what
  /// is written at one is read at the other. The same call as map(), with a source.
  [[nodiscard]] Status alias(Address address, std::uint64_t bytes, Address of);
  /// Exactly a range that one map() or alias() gave. No launch may be using it. The memory goes with the last of its
  /// ranges, and what it held with it.
  [[nodiscard]] Status unmap(Address address, std::uint64_t bytes);

  // Streams and events. External records and waits become nodes and join nothing.
  [[nodiscard]] Status create_stream(Stream& out, bool blocking = false);
  [[nodiscard]] Status destroy_stream(Stream stream);
  [[nodiscard]] Status synchronize(Stream stream);
  [[nodiscard]] Status query(Stream stream);
  [[nodiscard]] Status synchronize_device();
  [[nodiscard]] Status create_event(Event& out);
  [[nodiscard]] Status destroy_event(Event event);
  [[nodiscard]] Status record(Event event, Stream stream, bool external = false);
  [[nodiscard]] Status wait(Stream stream, Event event, bool external = false);
  [[nodiscard]] Status query(Event event);
  [[nodiscard]] Status synchronize(Event event);

  // Work, in stream order. `copy_now` is the blocking copy on the legacy stream.
  struct Place {
    Address address = 0;
    MemorySpace space = MemorySpace::device;
  };
  [[nodiscard]] Status copy(Place to, Place from, std::uint64_t bytes, Stream stream);
  [[nodiscard]] Status copy_now(Place to, Place from, std::uint64_t bytes);
  [[nodiscard]] Status fill(Address to, std::uint8_t value, std::uint64_t bytes, Stream stream);
  [[nodiscard]] Status launch(const OpLaunch& op, Stream stream);

  // Capture and graphs.
  [[nodiscard]] Status begin_capture(Stream stream, CaptureMode mode);
  [[nodiscard]] Status end_capture(Stream stream, GraphHandle& out);
  [[nodiscard]] Status exchange_capture_mode(CaptureMode& mode);
  [[nodiscard]] Status capture_frontier(Stream stream, std::vector<std::uint64_t>& nodes);
  [[nodiscard]] Status instantiate(GraphHandle graph, ExecHandle& out);
  [[nodiscard]] Status upload(ExecHandle exec, Stream stream);
  [[nodiscard]] Status launch(ExecHandle exec, Stream stream);
  [[nodiscard]] Status update(ExecHandle exec, GraphHandle graph);
  [[nodiscard]] Status destroy(GraphHandle graph);
  [[nodiscard]] Status destroy(ExecHandle exec);
};

/// Driver::begin_range and its end.
class ProfilerRange {
 public:
  ProfilerRange(Driver& driver, const char* name, std::uint64_t payload = 0) : driver_(driver) {
    driver_.begin_range(name, payload);
  }
  ~ProfilerRange() { driver_.end_range(); }
  ProfilerRange(const ProfilerRange&) = delete;
  ProfilerRange& operator=(const ProfilerRange&) = delete;

 private:
  Driver& driver_;
};

}  // namespace refrain
