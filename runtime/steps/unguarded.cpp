#include "runtime/steps/unguarded.hpp"

#include <utility>

namespace refrain {

UnguardedWorkspace::UnguardedWorkspace(Driver& driver, BufferRegistry& registry, Buffer first)
    : driver_(driver), registry_(registry), first_(std::move(first)) {
  check(driver_.allocate(3 * first_.bytes, MemorySpace::device, base_), "cudaMalloc");
  take(first_, 0);
}

UnguardedWorkspace::~UnguardedWorkspace() {
  drop();
  (void)driver_.release(base_, MemorySpace::device);
}

void UnguardedWorkspace::take(Buffer buffer, std::uint64_t offset) {
  buffer.base = base_ + offset;
  current_ = registry_.add(std::move(buffer));
}

void UnguardedWorkspace::drop() {
  if (current_) registry_.retire(*std::exchange(current_, std::nullopt));
}

void UnguardedWorkspace::reuse() {
  drop();
  Buffer other = first_;
  other.name = "recurrent state";
  other.role = Role::state;
  take(std::move(other), 0);
}

void UnguardedWorkspace::grow() {
  drop();
  Buffer larger = first_;
  larger.bytes *= 2;
  take(std::move(larger), first_.bytes);
}

}  // namespace refrain
