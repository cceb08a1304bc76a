// One op: a name, its contract, its host twin and its launcher. The recorder
// runs it eagerly or captures it and attaches the contract to the node(s) that
// the launch made. No CUDA type stands here: a stream is its raw handle.
#pragma once

#include "graphs/contract.hpp"

namespace refrain {

template <class Args>
struct Op {
  const char* name;
  /// What one launch with these Args touches, needs and gives. Throws nothing; asserts the shape preconditions.
  Contract (*contract)(const Args&);
  /// Runs at once on host memory, with the kernel's tiling where it shows.
  void (*host)(const Args&);
  /// Enqueues on a cudaStream_t given as void*; safe to capture. Null in a build without CUDA.
  void (*launch)(const Args&, void* stream);
  /// As launch, but the kernel starts while the one ahead of it on the stream still runs, and waits on the device: for
  /// an op whose contract says that it waits, behind a kernel. Null for others and in a build without CUDA.
  void (*launch_early)(const Args&, void* stream) = nullptr;
};

/// The contract's words for a typed array: `count` elements from `data`, exact unless said.
template <class T>
[[nodiscard]] Access touch(const T* data, std::uint64_t count, Mode mode, Role role, Dtype dtype,
                           Reach reach = Reach::exact) {
  return {reinterpret_cast<Address>(data), {0, count * dtype_bytes(dtype)}, mode, reach, role, dtype};
}

template <class T>
[[nodiscard]] Claim claim(Fact fact, const T* data, std::uint64_t bytes) {
  return {fact, reinterpret_cast<Address>(data), {0, bytes}};
}

}  // namespace refrain
