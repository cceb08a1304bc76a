// What happened, in order: the calls that a program made of the driver, the
// buffers it had, the ranges it named, the replay checks it did. Plain values,
// whoever saw them: a RecordingDriver, CUPTI, a trace file. Sequence numbers rise
// by one a record over all kinds, so any two records have an order. Names are
// interned; an event stays under 100 bytes.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "graphs/capture_rules.hpp"
#include "graphs/graph.hpp"

namespace refrain {

/// Index into Timeline::strings; 0 is the empty string.
using StringId = std::uint32_t;

/// Of a call whose stream a profiler did not record.
inline constexpr std::uint32_t kUnknownStream = 0xffff'ffff;

/// One call of the driver's API.
struct ApiEvent {
  std::uint64_t sequence = 0;
  std::uint64_t start_ns = 0, end_ns = 0;  ///< since the recording began
  std::uint64_t object = 0;  ///< handle of what the call was aimed at beside its stream: event, graph or graph exec
  std::uint64_t made = 0;    ///< handle of what it made: stream, event, graph (end_capture), graph exec (instantiate).
                             ///< Of graph_exec_update: the graph that the exec runs from now on; 0 = not recorded
  Address address = 0;       ///< allocation, or destination
  Address source = 0;        ///< of a copy
  std::uint64_t bytes = 0;
  std::uint32_t thread = 0;  ///< dense: 1 is the first thread that was seen
  std::uint32_t stream = 0;  ///< the stream the call was aimed at; 0 = the legacy stream or none
  /// The capture in progress when the call was made (its own stream's, else the latest); 0 = none.
  std::uint32_t capture = 0;
  std::int32_t code = 0;  ///< what the call returned
  StringId detail = 0;    ///< an op's or kernel's name
  Api api = Api::launch_kernel;
  Target target = Target::none;
  CaptureMode mode = CaptureMode::global;    ///< of that capture; of an exchange: the mode asked for
  MemorySpace space = MemorySpace::unknown;  ///< of `address`
  MemorySpace source_space = MemorySpace::unknown;
};

/// What a range tells of the rows of its step, or of the step around it.
struct RowCounts {
  static constexpr std::uint32_t kNotTold = 0xffff'ffff;
  std::uint32_t bucket = kNotTold;  ///< that the step was padded to
  std::uint32_t real = kNotTold;    ///< of these, in use
  bool operator==(const RowCounts&) const = default;
};

/// A named span of one thread: an NVTX range, or what the runtime calls a step.
struct RangeEvent {
  std::uint64_t first = 0, last = 0;  ///< sequence numbers: the records in between belong to it
  std::uint64_t start_ns = 0, end_ns = 0;
  std::uint32_t thread = 0;
  StringId name = 0;
  bool step = false;  ///< one serving step: what happens in it is on the hot path
  RowCounts rows{};   ///< by the range's payload; what its name says is not in it
};

/// A buffer as the runtime knew it; `born` and `died` are sequence numbers of this timeline.
struct BufferEvent {
  Buffer buffer;
};

/// Ties a graph handle of the calls to the description of that graph.
struct GraphEvent {
  std::uint64_t sequence = 0;
  std::uint64_t handle = 0;
  std::uint32_t graph = 0;  ///< index into Recording::graphs
};

/// From here on the input of this name stands at `address`: a graph captured before holds the place it had.
struct BindingEvent {
  std::uint64_t sequence = 0;
  StringId name = 0;
  Address address = 0;
  std::uint64_t bytes = 0;
};

enum class CheckKind : std::uint8_t { poison, repeat, eager };

/// One replay whose output was compared: with the unpoisoned replay, with the replay before, or with eager.
struct ReplayCheck {
  std::uint64_t sequence = 0;
  CheckKind kind = CheckKind::poison;
  StringId graph = 0;  ///< the graph's name
  StringId axis = 0;   ///< what was poisoned, e.g. `null block`; empty for the other kinds
  StringId fill = 0;   ///< with what, e.g. `0xFF`
  bool finite = true;  ///< every output element of a real row
  bool bit_equal = true;
  double max_abs_error = 0;              ///< over finite elements
  double tolerance = 0;                  ///< of an eager check; 0 asks for equal bits
  std::optional<NodeId> first_nan_node;  ///< first node that wrote a NaN, when the output held one
};

/// A record that could not be read, by kind: the reading went on.
struct ReadProblem {
  std::string name;      ///< kebab case
  std::string sentence;  ///< what it means for what is reported
  std::uint64_t count = 0;
  std::uint64_t first_offset = 0;  ///< byte of the first one, in the uncompressed text; 0 = a place without a byte
};

enum class WorkKind : std::uint8_t { kernel, copy, fill, graph };
/// Arrays are device memory; `other` between devices, and a driver's own moves of managed memory.
enum class CopyDirection : std::uint8_t { none, h2d, d2h, d2d, h2h, other };

/// One piece of work that a device did, as a profiler saw it. `graph` is a whole replay seen from outside, where the
/// profiler did not look at the nodes.
struct WorkEvent {
  static constexpr std::uint64_t kNoCall = ~std::uint64_t{0};
  std::uint64_t start_ns = 0, end_ns = 0;
  std::uint64_t call = kNoCall;  ///< sequence number of the call that handed it out, a graph launch for a node's work
  std::uint64_t graph_node = 0;  ///< the profiler's id of the node that it came of; 0 = none, or not recorded
  std::uint64_t bytes = 0;       ///< of a copy or fill
  std::uint32_t process = 0;     ///< dense, as threads are
  std::uint32_t device = 0, stream = 0;
  StringId name = 0;
  WorkKind kind = WorkKind::kernel;
  CopyDirection direction = CopyDirection::none;
  MemorySpace space = MemorySpace::unknown;  ///< of a copy's or fill's destination
  MemorySpace source_space = MemorySpace::unknown;
};

/// A node of a graph exec by the profiler's ids, and where it came of: an exec's nodes are clones of captured ones.
struct GraphNodeEvent {
  std::uint64_t node = 0;      ///< as in WorkEvent::graph_node; the exec's id is its upper half
  std::uint64_t captured = 0;  ///< the node that it was cloned from, through every clone that the input tells of
  std::uint64_t call = WorkEvent::kNoCall;  ///< sequence number of the call that captured that one
  std::uint32_t process = 0;                ///< as in WorkEvent
};

/// Calls and graphs that the auditor of a live process failed to write down: rule 802's.
inline constexpr std::string_view kRecordsLost = "records-lost";
/// The process' frees inside a caching allocator are no calls of the driver's.
inline constexpr std::string_view kCachingAllocator = "caching-allocator";

/// Something that the input's maker did not record, so that its absence proves nothing. It is no fault of the file.
struct EvidenceLimit {
  std::string name;      ///< kebab case, e.g. `graph-mode`
  std::string sentence;  ///< what cannot be seen for it
  std::uint64_t count = 0;
};

enum class StepBasis : std::uint8_t;  // traces/cut_steps.hpp

struct Timeline {
  std::vector<std::string> strings{std::string()};
  std::vector<ApiEvent> calls;
  std::vector<RangeEvent> ranges;
  std::vector<BufferEvent> buffers;
  std::vector<GraphEvent> graphs;
  std::vector<BindingEvent> bindings;
  std::vector<ReplayCheck> checks;
  std::vector<WorkEvent> work;              ///< by start; only profilers see it
  std::vector<GraphNodeEvent> graph_nodes;  ///< by process and node; only some profilers tell
  std::vector<ReadProblem> problems;
  std::vector<EvidenceLimit> limits;
  StepBasis
      step_basis{};  ///< how the ranges that are steps became known; by the input's own marks unless they were cut
  bool steps_told = false;  ///< the input says itself how they were cut: another cut would know less
  bool complete = true;     ///< false: the writer died, or the file was cut; what stands is true, what lacks is unknown

  [[nodiscard]] const std::string& text(StringId id) const { return strings[id]; }
  [[nodiscard]] bool empty() const { return calls.empty() && ranges.empty() && checks.empty() && work.empty(); }
};

/// Lets a map of strings be asked by a view: no copy for each of millions of names.
struct TextHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const noexcept { return std::hash<std::string_view>{}(text); }
};

/// Gives equal strings equal ids of one timeline.
class Interner {
 public:
  explicit Interner(Timeline& timeline);
  [[nodiscard]] StringId id(std::string_view text);

 private:
  Timeline& timeline_;
  std::unordered_map<std::string, StringId, TextHash, std::equal_to<>> ids_;
};

}  // namespace refrain
