// What memory the program has, as the driver names it: born at an allocation, dead
// at the call that gave it back. For each graph it also keeps the memory that its
// nodes lead into, and looks again at a launch: gone, another allocation in its
// place, or host memory that is no longer there. Ranges that the program maps itself
// keep their identity over a new mapping, so there only an unmapped one is dead.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "audit/cupti/live_driver.hpp"

namespace refrain {

class LiveMemory {
 public:
  /// `dead` takes each buffer once, when its last is known. `tick` gives the next sequence number.
  LiveMemory(LiveDriver& driver, std::function<void(const Buffer&)> dead, std::function<std::uint64_t()> tick)
      : driver_(driver), dead_(std::move(dead)), tick_(std::move(tick)) {}

  void born(Address address, std::uint64_t sequence);
  /// The buffer that begins there, before it is given back.
  [[nodiscard]] std::optional<Buffer> find(Address address) const;
  void died(Buffer buffer, std::uint64_t sequence);
  void reserved(Address address, std::uint64_t bytes) { reserved_[address] = bytes; }

  /// What the graph leads into is looked at from now on; by the thread that captured it, where its stack is meant.
  void watch(std::uint64_t graph, const Graph& description, std::uint64_t thread);
  /// The program says itself what the graph is: with a contract on each kernel, what it has in ranges that it mapped
  /// is known by its own buffers.
  void described(std::uint64_t graph, const Graph& description);
  /// At a launch by that thread.
  void check(std::uint64_t graph, std::uint64_t thread);

  /// Some graph leads into a range that the program mapped itself: what its allocator does inside is no call.
  [[nodiscard]] bool uses_mapped() const;

  /// Writes what is still alive.
  void finish();

 private:
  struct HostPiece {
    Buffer buffer;
    std::uint64_t thread = 0;  ///< whose stack it lies in; 0 = none
  };
  struct Watched {
    std::vector<Buffer> allocations;
    std::vector<HostPiece> host;
    bool mapped = false;  ///< leads into a range that the program mapped itself, and nothing says to which piece
  };

  void collect(const Graph& graph, std::uint64_t thread, Watched& out);
  void add_host(Address address, std::uint64_t bytes, std::uint64_t thread, Watched& out);
  [[nodiscard]] bool is_gone(const Buffer& buffer);
  [[nodiscard]] bool is_gone(const HostPiece& piece, std::uint64_t thread);
  [[nodiscard]] bool maps_itself(Address address) const;

  LiveDriver& driver_;
  std::function<void(const Buffer&)> dead_;
  std::function<std::uint64_t()> tick_;
  std::map<Address, Buffer> alive_;
  std::map<Address, std::uint64_t> reserved_;  // base, bytes
  std::unordered_map<std::uint64_t, Watched> watched_;
};

}  // namespace refrain
