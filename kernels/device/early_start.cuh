// Programmatic dependent launch. A kernel that is launched early begins while the one
// ahead of it on the stream still runs: its blocks take their places and then wait on
// the device. Invariant: a kernel with an early launcher calls wait_for_previous() or
// start_next_and_wait() in every block before it returns or touches memory, but for reads
// that its contract calls `before_wait`. So whatever comes after it comes after all that came before it,
// through any number of early kernels, and what ran two kernels ahead is done, but where
// the one between calls start_next_and_wait(), as its contract says (`triggers_first`).
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <utility>

#include "kernels/device_code.hpp"

namespace refrain::device {

/// Until the kernels ahead are done and what they wrote can be read; then lets the kernel behind take its places. Only
/// then, so that no more than two kernels of a chain are resident at once. Nothing before sm_90, where nothing is
/// early.
__device__ inline void wait_for_previous() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

/// The other way round, of a small kernel between large ones: what the one behind reads ahead of its own wait comes in
/// while the one ahead ends. Behind this kernel's own early reads, which would stand in line behind those.
__device__ inline void start_next_and_wait() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

}  // namespace refrain::device

namespace refrain {

/// Whether a kernel waits for the whole of the one ahead of it, or starts early and waits on the device.
enum class Start : unsigned char { after, early };

/// Where a kernel goes. Early becomes `after` where the code that runs does not wait (made for less than sm_90).
struct KernelPlace {
  cudaStream_t stream = nullptr;
  Start start = Start::after;
};

/// What a launch says beside its shape. It stays where it is while a configuration points to it.
class LaunchAttributes {
 public:
  /// `cluster`: blocks that share one; 1 is none.
  explicit LaunchAttributes(Start start, unsigned cluster = 1) {
    if (start == Start::early && code_architecture() >= 90) {
      all_[count_].id = cudaLaunchAttributeProgrammaticStreamSerialization;
      all_[count_++].val.programmaticStreamSerializationAllowed = 1;
    }
    if (cluster > 1) {
      all_[count_].id = cudaLaunchAttributeClusterDimension;
      all_[count_++].val.clusterDim = {cluster, 1, 1};
    }
  }
  LaunchAttributes(const LaunchAttributes&) = delete;
  LaunchAttributes& operator=(const LaunchAttributes&) = delete;

  void add_to(cudaLaunchConfig_t& config) {
    config.attrs = all_;
    config.numAttrs = count_;
  }

 private:
  cudaLaunchAttribute all_[2] = {};
  unsigned count_ = 0;
};

/// What went wrong stands in the last error, as with <<<>>>.
template <class... Params, class... Args>
void launch_kernel(void (*kernel)(Params...), dim3 grid, dim3 block, std::size_t shared_bytes, KernelPlace place,
                   Args&&... args) {
  LaunchAttributes attributes(place.start);
  cudaLaunchConfig_t config{};
  config.gridDim = grid;
  config.blockDim = block;
  config.dynamicSmemBytes = shared_bytes;
  config.stream = place.stream;
  attributes.add_to(config);
  static_cast<void>(cudaLaunchKernelEx(&config, kernel, std::forward<Args>(args)...));
}

}  // namespace refrain
