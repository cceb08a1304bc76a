// Who owns device memory. One reservation of addresses that stay, cut into leases;
// a lease that a graph exec holds can be neither released nor grown, because the
// graph has its address baked in (rule 206 cannot happen by construction).
// Freed ranges are used again; generations tell one lease of a range from the next.
// Memory is mapped behind the addresses as leases need it, and goes away in sleep():
// graphs stay valid over that, what the memory held does not. Graphs that never run
// together share physical memory: their leases lie in different overlays, so that the
// total is the own memory plus the largest overlay, not the sum; and each lease still
// has addresses of its own, so nothing that reads addresses can mistake one for another.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "runtime/buffer_registry.hpp"
#include "runtime/driver.hpp"
#include "runtime/free_ranges.hpp"
#include "runtime/mapped_memory.hpp"

namespace refrain {

struct LeaseRequest {
  std::string name;         ///< how findings call the buffer
  std::uint64_t bytes = 0;  ///< at least 1
  Role role = Role::unknown;
  Dtype dtype = Dtype::unknown;
  ByteRange reserved{};  ///< bytes of it that no op may ever write; empty = none
  /// 0: memory of its own. n: in overlay n, whose memory a graph of another overlay writes as soon as it runs. So
  /// nothing may stand there that outlives a replay: workspaces (activations are), scratch and plans alone, whose roles
  /// say so.
  std::uint32_t overlay = 0;
};

/// Memory shared by graphs that never run together, which is for their owner to see to: one stream, or an order between
/// their launches. `count` overlays, numbered from 1, of up to `bytes` each; memory is taken as the largest needs it.
struct Overlays {
  std::uint32_t count = 0;
  std::uint64_t bytes = 0;
};

/// How large an arena must be for those who lease it: what they take of their own, and of overlays.
struct ArenaSize {
  std::uint64_t bytes = 0;
  Overlays overlays;
};

class Arena;

/// The right to a fixed range of an arena. Move-only; the destructor gives the range back,
/// or leaves it to the last graph exec that holds it.
class Lease {
 public:
  Lease() = default;
  Lease(Lease&& other) noexcept : arena_(std::exchange(other.arena_, nullptr)), id_(other.id_), base_(other.base_) {}
  Lease& operator=(Lease&& other) noexcept;
  ~Lease() { reset(); }

  [[nodiscard]] Address address() const noexcept { return base_; }
  /// The range as elements; it is device memory, so only ops may dereference it.
  template <class T>
  [[nodiscard]] T* as() const noexcept {
    return reinterpret_cast<T*>(base_);
  }
  [[nodiscard]] BufferRegistry::Id id() const noexcept { return id_; }
  [[nodiscard]] explicit operator bool() const noexcept { return arena_ != nullptr; }

 private:
  friend class Arena;
  Lease(Arena* arena, BufferRegistry::Id id, Address base) : arena_(arena), id_(id), base_(base) {}
  void reset() noexcept;

  Arena* arena_ = nullptr;
  BufferRegistry::Id id_ = 0;
  Address base_ = 0;
};

/// What a graph exec keeps of the leases that its nodes name. Move-only; letting go is noexcept.
class LeaseHolds {
 public:
  LeaseHolds() = default;
  LeaseHolds(LeaseHolds&& other) noexcept
      : arena_(std::exchange(other.arena_, nullptr)), ids_(std::exchange(other.ids_, {})) {}
  LeaseHolds& operator=(LeaseHolds&& other) noexcept;
  ~LeaseHolds() { reset(); }

  /// Throws Error{refused} while the arena of these leases sleeps: a launch would fault.
  void require_awake() const;

 private:
  friend class Arena;
  LeaseHolds(Arena* arena, std::vector<BufferRegistry::Id> ids) : arena_(arena), ids_(std::move(ids)) {}
  void reset() noexcept;

  Arena* arena_ = nullptr;
  std::vector<BufferRegistry::Id> ids_;
};

class Arena {
 public:
  /// Reserves addresses for `bytes` of device memory, and for each overlay's, and takes no memory yet; throws
  /// Error{driver}. Outlives its leases and holds.
  Arena(Driver& driver, BufferRegistry& registry, std::uint64_t bytes, Overlays overlays = {});
  /// No launch may be using its memory any more: see OwnedStream, which waits.
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  /// Aligned to 256 bytes; maps memory behind it where there is none. Throws Error{refused} when the arena has no such
  /// range left or sleeps, or has no such overlay, or the role has no business there, and Error{driver} when the device
  /// has no memory left. Not while a capture of the whole process is audited: what it maps is a call.
  [[nodiscard]] Lease lease(const LeaseRequest& request);
  /// Gives the range back. Throws Error{refused} while a graph exec holds it; the lease stays whole.
  void release(Lease& lease);
  /// A larger range under the same name, in the same overlay; the contents are not kept. Throws Error{refused} like
  /// release.
  void grow(Lease& lease, std::uint64_t bytes);
  /// Holds every live lease among the buffers that `graph` names. Throws Error{refused} when they are of two overlays:
  /// such a graph overwrites itself.
  [[nodiscard]] LeaseHolds hold(const Graph& graph);
  /// Whether the owner let go of the lease of this generation (Buffer::allocation), so that graph execs alone keep it.
  [[nodiscard]] bool given_up(std::uint64_t allocation) const noexcept;

  /// Gives all memory back to the device and keeps the addresses: leases, graphs and graph execs stay, contents are
  /// lost, and no graph can be launched until wake(). The caller has waited for every launch. Throws Error{driver};
  /// then some of the memory is gone, and sleep() or wake() may be called again.
  void sleep();
  /// Maps fresh memory behind every address that had some. What was written once (weights, KV pages, workspaces that a
  /// prepare fills) has to be written again: rule 306 finds what was not. Throws Error{driver}, as sleep() does.
  void wake();
  [[nodiscard]] bool asleep() const noexcept { return asleep_; }
  /// How often it woke: what was written under another count is lost.
  [[nodiscard]] std::uint64_t wakes() const noexcept { return wakes_; }

  /// Memory that the arena has of the device now, in whole granules; what overlays share counts once.
  [[nodiscard]] std::uint64_t bytes_mapped() const noexcept { return own_.bytes() + shared_.bytes(); }
  /// Of the leases of one overlay; 0: of those with memory of their own.
  [[nodiscard]] std::uint64_t bytes_leased(std::uint32_t overlay = 0) const noexcept;

 private:
  friend class Lease;
  friend class LeaseHolds;
  struct Range {
    std::uint64_t offset = 0, bytes = 0;
    std::uint32_t overlay = 0;
    std::uint32_t holds = 0;
    bool leased = true;
  };
  /// The addresses of an overlay, or of what has memory of its own.
  struct Window {
    std::uint64_t bytes = 0;
    FreeRanges free;
  };
  void drop_lease(BufferRegistry::Id id) noexcept;
  void drop_hold(BufferRegistry::Id id) noexcept;
  void free_range(BufferRegistry::Id id) noexcept;
  void refuse_if_held(const Lease& lease, const char* tried) const;
  void refuse_if_misplaced(const LeaseRequest& request) const;
  [[nodiscard]] Lease take(const LeaseRequest& request, std::uint64_t offset, std::uint64_t bytes);

  Driver& driver_;
  BufferRegistry& registry_;
  std::uint64_t reserved_ = 0;
  Address base_ = 0;
  MappedMemory own_, shared_;
  std::vector<Window> windows_;  // by overlay
  std::map<BufferRegistry::Id, Range> ranges_;
  bool asleep_ = false;
  std::uint64_t wakes_ = 0;
};

}  // namespace refrain
