// The blocks of a caching allocator, which hands them out and takes them back without
// the driver: told by a hook in the allocator (python/refrain, follow_torch), in
// order with the calls. Kept for the life of the process; of the thousands that a
// program uses and drops, only those come into a recording that a graph leads into
// and that were given back, and the ones that then got their addresses. What lies in
// a graph's private pool is not told: it is there as long as the graph is.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "audit/cupti/call_stream.hpp"

namespace refrain {

class LiveBlocks {
 public:
  /// A window is open and its records go there; until unlisten().
  void listen(CallStream& stream);
  void unlisten();

  /// From here on every block is told, or no longer.
  void follow(bool on);
  /// `fresh`: handed out now; else it has been there, perhaps told before with fewer bytes.
  void taken(Address address, std::uint64_t bytes, bool fresh);
  void given_back(Address address);

 private:
  struct Block {
    std::uint64_t number = 0, bytes = 0;
    std::optional<std::uint64_t> born;
  };
  using Blocks = std::map<Address, Block>;

  [[nodiscard]] bool is_out_of_order();
  [[nodiscard]] bool was_given_back(Address address, std::uint64_t bytes) const;
  void retire(Blocks::iterator block);
  void write(Address address, const Block& block, std::optional<std::uint64_t> died);

  CallStream* stream_ = nullptr;
  Blocks alive_;                           // by address; they do not overlap
  std::map<Address, std::uint64_t> gone_;  // address, bytes: given back in this window while a graph led there
  std::uint64_t numbers_ = 0;
  bool followed_ = false;
};

}  // namespace refrain
