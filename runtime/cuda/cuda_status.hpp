// CUDA's return codes as the driver seam's, and its handles as numbers and back.
// Numbers are CUDA's own on both sides, so nothing is translated.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "graphs/contract.hpp"
#include "runtime/status.hpp"

namespace refrain {

/// Also clears the runtime's last error, so that one refused call does not show up in a later one.
[[nodiscard]] inline Status status_of(cudaError_t code) {
  if (code != cudaSuccess) (void)cudaGetLastError();
  return static_cast<Status>(code);
}

template <class Handle>
[[nodiscard]] std::uint64_t number_of(Handle* handle) noexcept {
  return reinterpret_cast<std::uint64_t>(handle);
}

template <class Handle>
[[nodiscard]] Handle handle_of(std::uint64_t number) noexcept {
  return reinterpret_cast<Handle>(number);
}

[[nodiscard]] inline void* pointer_of(Address address) noexcept {
  return reinterpret_cast<void*>(address);
}

}  // namespace refrain
