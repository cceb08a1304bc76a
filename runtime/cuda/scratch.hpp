// What a call made without operands (Driver::api) works on: memory of every
// kind, a pool and a recorded event, made before any capture so that the call
// itself is all that a capture sees. Owned by one CudaDriver.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

namespace refrain {

struct Scratch {
  static constexpr std::size_t kBytes = 256;       ///< of one call
  static constexpr std::size_t kPageBytes = 4096;  ///< of `pageable`: one page, so that it can be registered

  /// On `device`, with its context made current. Throws Error{driver}.
  explicit Scratch(int device);
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch();

  std::byte* device = nullptr;  ///< twice kBytes, the second half for copies on the device
  std::byte* pinned = nullptr;
  std::byte* managed = nullptr;
  std::byte* pageable = nullptr;
  cudaMemPool_t pool = nullptr;
  cudaEvent_t event = nullptr;     ///< recorded, on no captured stream
  std::size_t stack_bytes = 1024;  ///< the limit as it is, so that setting it changes nothing

 private:
  void make(int id);
  void drop() noexcept;
};

}  // namespace refrain
