// What a captured graph is: nodes, edges, buffers and what holds when a replay
// begins. Plain values with dense ids, whoever made them: the recorder, the
// introspection of a cudaGraph_t, a DOT dump, a JSON file. It knows no driver.
// Invariant: every edge, access and claim names an id below the vector's size,
// and the edges form no cycle (the readers and the recorder see to that).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "graphs/contract.hpp"

namespace refrain {

using NodeId = std::uint32_t;
using BufferId = std::uint32_t;

enum class NodeKind : std::uint8_t {
  kernel,
  memcpy,
  memset,
  mem_alloc,
  mem_free,
  host,
  event_record,
  event_wait,
  child,
  conditional,
  empty,
  batch_mem_op,
  semaphore_signal,
  semaphore_wait,
  other,
};

/// `programmatic`: the consumer may start before the producer ends, and waits on the device (PDL).
enum class EdgeKind : std::uint8_t { full, programmatic };

enum class MemorySpace : std::uint8_t { unknown, device, pinned, pageable, managed };

/// How sure a statement is: from the graph itself, by a contract being right, or inferred from a trace.
enum class Certainty : std::uint8_t { proven, contract, inferred };

/// When an entry fact was made true. `initialised_once`: before the first replay, never again.
/// `host_each_launch`: the host writes it before every launch. `previous_replay`: the graph leaves it.
enum class Origin : std::uint8_t { initialised_once, host_each_launch, previous_replay };

/// What the maker of this graph could not see; rules that need it answer "not checked".
enum class Unseen : std::uint8_t { kernel_params, copy_memory_kinds, addresses, edge_kinds, allocations, bodies };

struct Dim3 {
  std::uint32_t x = 1, y = 1, z = 1;
  friend bool operator==(const Dim3&, const Dim3&) = default;
};

/// One kernel parameter as captured: its bytes at `offset` of the parameter block.
struct Param {
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
  std::vector<std::uint8_t> bytes;
};

struct NodeAccess {
  BufferId buffer = 0;
  ByteRange range;  ///< relative to the buffer's base; one that ends past the buffer's end is the fault of the op
  Mode mode = Mode::read;
  Reach reach = Reach::exact;
  Role role = Role::unknown;
  Dtype dtype = Dtype::unknown;
  Certainty certainty = Certainty::contract;
  CacheTokens tokens = CacheTokens::any;
  bool before_wait = false;  ///< read ahead of the node's wait for its programmatic edges
};

struct NodeClaim {
  Fact fact = Fact::written;
  BufferId buffer = 0;
  ByteRange range;  ///< relative to the buffer's base
};

/// What a memcpy node copies; an address of 0 is one that the maker could not see.
struct CopyInfo {
  Address src = 0, dst = 0;
  std::uint64_t bytes = 0;
  MemorySpace src_space = MemorySpace::unknown, dst_space = MemorySpace::unknown;
};

/// What a memset node fills: `bytes` bytes at `dst`, elements of `element_bytes` set to `value`.
struct FillInfo {
  Address dst = 0;
  std::uint64_t bytes = 0;
  std::uint32_t value = 0;
  std::uint32_t element_bytes = 1;
};

/// What an alloc node makes or a free node gives back (`bytes` is 0 for a free).
struct AllocationInfo {
  Address address = 0;
  std::uint64_t bytes = 0;
};

struct Graph;

struct Node {
  NodeKind kind = NodeKind::kernel;
  std::string name;     ///< demangled where it could be
  std::string mangled;  ///< as the toolchain named it, or empty
  Dim3 grid, block;
  std::uint64_t shared_bytes = 0;
  std::vector<Param> params;

  std::string op;             ///< the op whose launch made this node, or empty
  bool has_contract = false;  ///< `accesses`, `needs` and `gives` are all there is to say
  std::vector<NodeAccess> accesses;
  std::vector<NodeClaim> needs, gives;
  std::optional<bool> waits, triggers, triggers_first;  ///< as in Contract; absent = not known

  std::optional<CopyInfo> copy;              ///< memcpy
  std::optional<FillInfo> fill;              ///< memset
  std::optional<AllocationInfo> allocation;  ///< mem_alloc, mem_free
  std::vector<Graph> bodies;                 ///< child, conditional; empty when they could not be seen

  std::string scope;      ///< NVTX stack at capture, `a/b/c`
  std::string call_site;  ///< `file:line`, or empty
};

struct Edge {
  NodeId from = 0, to = 0;
  EdgeKind kind = EdgeKind::full;
};

/// The driver numbers its allocations and the arena its leases: with this bit no two of them are equal.
inline constexpr std::uint64_t kDriverAllocation = std::uint64_t{1} << 48;
[[nodiscard]] constexpr std::uint64_t driver_allocation(std::uint64_t id) noexcept {
  return kDriverAllocation | id;
}
[[nodiscard]] constexpr bool is_driver_allocation(std::uint64_t allocation) noexcept {
  return (allocation & kDriverAllocation) != 0;
}

struct Buffer {
  std::string name;  ///< the lease's or the user's word for it
  Address base = 0;
  std::uint64_t bytes = 0;
  MemorySpace space = MemorySpace::device;  ///< `unknown`: neither the runtime nor the driver knows the memory
  Dtype dtype = Dtype::unknown;
  Role role = Role::unknown;
  std::uint64_t allocation = 0;  ///< the arena's generation, or driver_allocation() of CUDA's BUFFER_ID; 0 = unknown
  std::optional<std::uint64_t> born, died;  ///< event sequence numbers; absent = not seen
  ByteRange reserved{};  ///< bytes that no op may ever write, such as the null block of a KV pool; empty = none
  bool shared = false;  ///< graphs that run between two replays of this one may write it: nothing stays there but bytes
};

/// A fact that holds when a replay begins. One whose origin is not the host before
/// every launch must hold again at the graph's end, if the graph touches it; in a
/// shared buffer such a fact says no more than that something was written.
struct EntryFact {
  Fact fact = Fact::written;
  BufferId buffer = 0;
  ByteRange range;
  Origin origin = Origin::host_each_launch;
  std::string by;  ///< what established it, e.g. an op that ran eagerly before the capture
};

struct CaptureInfo {
  std::string phase, bucket, mode, device, driver, toolkit;
  std::vector<Unseen> unseen;

  [[nodiscard]] bool cannot_see(Unseen what) const noexcept {
    for (const Unseen u : unseen)
      if (u == what) return true;
    return false;
  }
};

struct Graph {
  std::string name;
  std::vector<Node> nodes;
  std::vector<Edge> edges;
  std::vector<Buffer> buffers;
  std::vector<EntryFact> entry;
  CaptureInfo capture;
  std::vector<std::string> notes;  ///< what a reader met and could not name, one sentence each
};

[[nodiscard]] const char* to_string(NodeKind) noexcept;
[[nodiscard]] const char* to_string(EdgeKind) noexcept;
[[nodiscard]] const char* to_string(MemorySpace) noexcept;
[[nodiscard]] const char* to_string(Certainty) noexcept;
[[nodiscard]] const char* to_string(Origin) noexcept;
[[nodiscard]] const char* to_string(Unseen) noexcept;

/// A memcpy or memset node says itself what it touches. Where its addresses are known and no contract is given,
/// this attaches one, proven, over the graph's buffers (memory that no buffer covers is of no concern to the graph),
/// in nested bodies too.
void attach_known_accesses(Graph& graph);

/// 16 hex digits over kinds, names, launch dims, ops, contract shapes and edges,
/// nested bodies included; no address, so equal steps have equal fingerprints.
[[nodiscard]] std::string fingerprint(const Graph& graph);

/// `node 3 (grouped_attention)`: how every message names a node.
[[nodiscard]] std::string describe(const Graph& graph, NodeId node);

}  // namespace refrain
