#include "runtime/cuda/scratch.hpp"

#include <cstdlib>
#include <new>

#include "runtime/cuda/cuda_status.hpp"

namespace refrain {
namespace {

template <class Allocate>
void take(std::byte*& out, Allocate allocate, const char* what) {
  void* made = nullptr;
  check(status_of(allocate(&made)), what);
  out = static_cast<std::byte*>(made);
}

}  // namespace

Scratch::Scratch(int id) {
  try {
    make(id);
  } catch (...) {
    drop();
    throw;
  }
}

Scratch::~Scratch() {
  drop();
}

void Scratch::make(int id) {
  check(status_of(cudaSetDevice(id)), "cudaSetDevice");
  take(
      device, [](void** p) { return cudaMalloc(p, 2 * kBytes); }, "cudaMalloc");
  take(
      pinned, [](void** p) { return cudaMallocHost(p, kBytes); }, "cudaMallocHost");
  take(
      managed, [](void** p) { return cudaMallocManaged(p, kBytes, cudaMemAttachGlobal); }, "cudaMallocManaged");
  pageable = static_cast<std::byte*>(std::aligned_alloc(kPageBytes, kPageBytes));
  if (pageable == nullptr) throw std::bad_alloc();
  cudaMemPoolProps properties{};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location = {cudaMemLocationTypeDevice, id};
  check(status_of(cudaMemPoolCreate(&pool, &properties)), "cudaMemPoolCreate");
  check(status_of(cudaEventCreate(&event)), "cudaEventCreate");
  check(status_of(cudaEventRecord(event, cudaStreamPerThread)), "cudaEventRecord");
  check(status_of(cudaDeviceGetLimit(&stack_bytes, cudaLimitStackSize)), "cudaDeviceGetLimit");
  check(status_of(cudaDeviceSynchronize()), "cudaDeviceSynchronize");
}

// The codes are of no use here: at exit the runtime may be gone before this object, and its memory with it.
void Scratch::drop() noexcept {
  if (event != nullptr) (void)cudaEventDestroy(event);
  if (pool != nullptr) (void)cudaMemPoolDestroy(pool);
  std::free(pageable);
  if (managed != nullptr) (void)cudaFree(managed);
  if (pinned != nullptr) (void)cudaFreeHost(pinned);
  if (device != nullptr) (void)cudaFree(device);
  (void)cudaGetLastError();
}

}  // namespace refrain
