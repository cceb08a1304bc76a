// Blocking transfers between host arrays and device memory, for inputs, outputs and
// tests: never part of a step.
#pragma once

#include <span>
#include <vector>

#include "runtime/arena.hpp"

namespace refrain {

/// Throws Error{driver}. Nothing happens for an empty span.
void write_device(Driver& driver, Address to, std::span<const std::byte> from);
void read_device(Driver& driver, std::span<std::byte> to, Address from);

template <class T>
void write_array(Driver& driver, const Lease& to, const std::vector<T>& from) {
  write_device(driver, to.address(), std::as_bytes(std::span(from)));
}

/// The first `count` elements of a lease.
template <class T>
[[nodiscard]] std::vector<T> read_array(Driver& driver, const Lease& from, std::size_t count) {
  std::vector<T> to(count);
  read_device(driver, std::as_writable_bytes(std::span(to)), from.address());
  return to;
}

/// After write_device and before a launch on another stream: a copy from pageable memory may return before the
/// device has all of it.
void settle_writes(Driver& driver);

}  // namespace refrain
