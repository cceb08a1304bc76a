// A workspace cache as many engines have one: memory taken from the driver beside
// the arena, handed out and dropped while graphs name it. It exists for the faults
// `workspace-grown`, `stale-pointer` and `reused-address`; nothing else may use it.
#pragma once

#include <optional>

#include "runtime/buffer_registry.hpp"
#include "runtime/driver.hpp"

namespace refrain {

class UnguardedWorkspace {
 public:
  /// One block of three times `bytes`, so that what grows or replaces the first buffer finds room. Throws
  /// Error{driver}.
  UnguardedWorkspace(Driver& driver, BufferRegistry& registry, Buffer first);
  ~UnguardedWorkspace();
  UnguardedWorkspace(const UnguardedWorkspace&) = delete;
  UnguardedWorkspace& operator=(const UnguardedWorkspace&) = delete;

  /// Where the first buffer was, whatever has become of it.
  [[nodiscard]] Address address() const noexcept { return base_; }

  /// Gives the first buffer back, as if no graph had its address.
  void drop();
  /// Drops it, and hands its bytes to a buffer of somebody else.
  void reuse();
  /// Drops it, and takes a larger one of the same name elsewhere.
  void grow();

 private:
  void take(Buffer buffer, std::uint64_t offset);

  Driver& driver_;
  BufferRegistry& registry_;
  Buffer first_;
  Address base_ = 0;
  std::optional<BufferRegistry::Id> current_;
};

}  // namespace refrain
