// What the callbacks of a running program become: the records of a recording. It
// follows every capture, says of each call whether it was captured, escaped or
// eager, numbers graphs and graph execs, keeps the memory's births and deaths, and
// reads a graph when its capture ends or it is instantiated. It knows no CUPTI; one
// caller at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "audit/cupti/live_call.hpp"
#include "audit/cupti/live_captures.hpp"
#include "audit/cupti/live_driver.hpp"
#include "audit/cupti/live_graphs.hpp"
#include "audit/cupti/live_memory.hpp"
#include "audit/cupti/live_settings.hpp"
#include "traces/sink.hpp"

namespace refrain {

struct CallStreamOptions {
  PointerChecks checks;
  std::uint64_t start_ns = 0;
  /// Every launch since the process began was seen, and kernels load when they are first launched: a kernel that is
  /// new to the auditor is new to the driver.
  bool sees_first_uses = false;
};

class CallStream {
 public:
  CallStream(RecordSink& sink, LiveDriver& driver, const CallStreamOptions& options);

  void enter(const LiveCall& call);
  void exit(const LiveCall& call);
  void push_range(std::uint64_t thread, std::uint64_t time_ns, std::string_view name);
  /// The name of the range that ended; empty where it began before anyone listened.
  std::string pop_range(std::uint64_t thread, std::uint64_t time_ns);
  /// A call of the thread is under way.
  [[nodiscard]] bool is_open(std::uint64_t thread) const;

  // What the program says itself, beside its calls (live_descriptions.hpp, live_blocks.hpp).
  [[nodiscard]] std::uint64_t tick() noexcept { return ++sequence_; }
  void add_buffer(const Buffer& buffer) { sink_.buffer(buffer); }
  void add_binding(BindingEvent event, std::string_view name);
  /// Joins what it says of a graph with what the driver shows, and writes the graph again. Empty, or why it is refused.
  [[nodiscard]] std::string describe(std::uint64_t handle, Graph&& description);

  /// Whether frees inside a caching allocator are told. That counts where it began before the first graph was read.
  void follow_allocator(bool on) noexcept { allocator_followed_ = on && (allocator_followed_ || ties_.empty()); }
  [[nodiscard]] bool allocator_followed() const noexcept { return allocator_followed_; }
  /// Some capture is open.
  [[nodiscard]] bool captures() const noexcept { return captures_.any(); }
  /// Some node of a graph is handed an address in there.
  [[nodiscard]] bool leads_into(Address address, std::uint64_t bytes) const;

  /// Writes what is known by now of the memory, and what could not be seen. Nothing can follow.
  void finish(std::vector<EvidenceLimit> limits);

 private:
  struct Range {
    RangeEvent event;
    std::string name;
  };
  struct Thread {
    std::uint32_t number = 0;
    // The call that is open, and how many driver calls it has open in turn.
    bool open = false, from_driver = false;
    std::uint64_t correlation = 0, sequence = 0, start_ns = 0;
    std::uint32_t nested = 0;
    CaptureMode mode = CaptureMode::global;  // that an exchange asks for; afterwards the old one stands there
    std::optional<Buffer> leaving;           // what the call is about to give back
    std::vector<Range> ranges;
  };

  [[nodiscard]] Thread& thread_of(std::uint64_t id);
  [[nodiscard]] std::optional<StreamKey> stream_of(const LiveCall& call, const Thread& thread) const;
  [[nodiscard]] std::uint32_t stream_number(std::optional<StreamKey> stream);
  [[nodiscard]] Target target_of(std::optional<StreamKey> stream, const LiveCaptures::Open* capture) const;

  void before(const LiveCall& call, Thread& thread);
  void before_launch(const LiveCall& call);
  void look_for_capture(const LiveCall& call, const Thread& thread);
  [[nodiscard]] ApiEvent event_of(const LiveCall& call, const Thread& thread, std::optional<StreamKey> stream);
  void name_objects(const LiveCall& call, ApiEvent& event);
  void classify_copy(const LiveCall& call, ApiEvent& event);
  [[nodiscard]] std::string detail_of(const LiveCall& call, const ApiEvent& event, const Thread& thread);
  void follow(const LiveCall& call, const ApiEvent& event, Thread& thread, std::optional<StreamKey> stream);
  void follow_graphs(const LiveCall& call, const ApiEvent& event);
  void follow_memory(const LiveCall& call, const ApiEvent& event, Thread& thread);
  void note_node(const LiveCall& call, const ApiEvent& event, const Thread& thread);
  void read_graph(std::uint64_t handle, std::uint64_t thread);
  void note_pointers(const Graph& graph);

  RecordSink& sink_;
  LiveDriver& driver_;
  const CallStreamOptions options_;
  std::uint64_t sequence_ = 0;
  LiveCaptures captures_;
  LiveGraphs graphs_;
  LiveMemory memory_;
  std::unordered_map<std::uint64_t, Thread> threads_;
  std::unordered_map<StreamKey, std::uint32_t> streams_{{0, 0}};
  std::uint32_t stream_count_ = 1;
  std::unordered_set<std::uint64_t> functions_;            // that were launched before
  std::unordered_map<std::uint64_t, std::string> names_;   // of functions, demangled
  std::unordered_map<std::uint64_t, std::uint64_t> ties_;  // number of a graph that the recording holds: since when
  std::set<Address> pointers_;                             // that nodes are handed, into memory of the driver's
  bool allocator_followed_ = false;
  std::uint64_t unread_ = 0;  // graphs that the driver would not let be read
  std::string last_site_;
};

}  // namespace refrain
