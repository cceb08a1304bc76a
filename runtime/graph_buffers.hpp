// The buffers of one captured graph while it is described: the leases that its
// contracts name, what the driver knows beside them, and what neither of them knows.
// It turns addresses into buffers of the graph, in the order of first use.
#pragma once

#include <map>
#include <optional>
#include <unordered_map>

#include "runtime/buffer_registry.hpp"
#include "runtime/driver.hpp"

namespace refrain {

class GraphBuffers {
 public:
  /// `graph` may hold buffers that the driver's introspection found. All three must outlive this.
  GraphBuffers(Driver& driver, const BufferRegistry& registry, Graph& graph);

  struct Place {
    BufferId buffer = 0;
    std::uint64_t offset = 0;  ///< of the address, in the buffer
  };

  /// The graph's buffer at `address`, made one if it is not yet; nothing for memory that nobody knows.
  [[nodiscard]] std::optional<Place> resolve(Address address);
  /// As resolve(); memory that nobody knows becomes a buffer of space `unknown`, of the bytes that the access says.
  [[nodiscard]] Place resolve_or_doubt(Address address, std::uint64_t bytes);
  /// Makes the lease at `address`, if there is one, a buffer of the graph.
  void note(Address address) {
    if (registry_.find(address)) (void)resolve(address);
  }
  /// As resolve(), but only of buffers that the graph has.
  [[nodiscard]] std::optional<Place> named(Address address) const;

  /// Buffers of the graph that are none of the registry's, by base.
  [[nodiscard]] const std::map<Address, BufferId>& outside() const noexcept { return outside_; }

 private:
  [[nodiscard]] std::optional<Place> named_outside(Address address) const;
  Place add_outside(Buffer buffer, Address address);

  Driver& driver_;
  const BufferRegistry& registry_;
  Graph& graph_;
  std::unordered_map<BufferRegistry::Id, BufferId> local_;
  std::map<Address, BufferId> outside_;
};

}  // namespace refrain
