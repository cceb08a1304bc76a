// What the CUDA driver enqueues on a stream, and the blocking copies.
#include "runtime/cuda/cuda_driver.hpp"
#include "runtime/cuda/cuda_status.hpp"
#include "runtime/cuda/probe.hpp"

namespace refrain {
namespace {

/// A launcher throws and returns nothing: what went wrong stands in the last error.
cudaError_t launch_op(const OpLaunch& op, cudaStream_t stream) {
  (void)cudaGetLastError();  // what somebody left there is not this launch's
  op.device(stream);
  return cudaGetLastError();
}

cudaError_t launch_kernel(const Call& call, cudaStream_t stream) {
  const OpLaunch* op = call.op;
  if (op != nullptr && op->device) return launch_op(*op, stream);
  // The twin of a kernel that this build lacks must not pass for its launch.
  if (op != nullptr && op->host) return cudaErrorNotSupported;
  const void* kernel = call.api == Api::launch_kernel ? probe_kernel() : probe_first_use_kernel();
  return cudaLaunchKernel(kernel, dim3(1), dim3(32), nullptr, 0, stream);
}

void do_nothing(void*) {}
void do_nothing_after(cudaStream_t, cudaError_t, void*) {}

struct Operands {
  void* to;
  const void* from;
  std::size_t bytes;
};

/// The call's own addresses, or scratch for a call without any.
Operands operands(const Call& call, std::byte* to, const std::byte* from) {
  if (call.address == 0 && call.source == 0) return {to, from, Scratch::kBytes};
  return {pointer_of(call.address), pointer_of(call.source), call.bytes};
}

cudaError_t move_bytes(const Operands& o, cudaMemcpyKind kind) {
  return cudaMemcpy(o.to, o.from, o.bytes, kind);
}

cudaError_t move_bytes(const Operands& o, cudaMemcpyKind kind, cudaStream_t stream) {
  return cudaMemcpyAsync(o.to, o.from, o.bytes, kind, stream);
}

}  // namespace

CudaDriver::Answer CudaDriver::work(Call& call) {
  switch (call.api) {
    case Api::launch_kernel:
    case Api::launch_kernel_first_use: return launch_kernel(call, stream_of(call));
    case Api::memset_async: {
      const Operands o = operands(call, scratch_.device, nullptr);
      return cudaMemsetAsync(o.to, call.value, o.bytes, stream_of(call));
    }
    case Api::memset: {
      const Operands o = operands(call, scratch_.device, nullptr);
      return cudaMemset(o.to, call.value, o.bytes);
    }
    default: return std::nullopt;
  }
}

CudaDriver::Answer CudaDriver::copies(Call& call) {
  const Scratch& s = scratch_;
  const cudaStream_t stream = stream_of(call);
  switch (call.api) {
    case Api::memcpy_h2d: return move_bytes(operands(call, s.device, s.pageable), cudaMemcpyHostToDevice);
    case Api::memcpy_d2h: return move_bytes(operands(call, s.pageable, s.device), cudaMemcpyDeviceToHost);
    case Api::memcpy_d2d: return move_bytes(operands(call, s.device, s.device + s.kBytes), cudaMemcpyDeviceToDevice);
    case Api::memcpy_async_h2d_pageable:
      return move_bytes(operands(call, s.device, s.pageable), cudaMemcpyHostToDevice, stream);
    case Api::memcpy_async_h2d_pinned:
      return move_bytes(operands(call, s.device, s.pinned), cudaMemcpyHostToDevice, stream);
    case Api::memcpy_async_d2h_pageable:
      return move_bytes(operands(call, s.pageable, s.device), cudaMemcpyDeviceToHost, stream);
    case Api::memcpy_async_d2h_pinned:
      return move_bytes(operands(call, s.pinned, s.device), cudaMemcpyDeviceToHost, stream);
    case Api::memcpy_async_d2d:
      return move_bytes(operands(call, s.device, s.device + s.kBytes), cudaMemcpyDeviceToDevice, stream);
    default: return std::nullopt;
  }
}

CudaDriver::Answer CudaDriver::other_work(Call& call) {
  const Scratch& s = scratch_;
  const cudaStream_t stream = stream_of(call);
  constexpr std::size_t kRow = 64, kRows = Scratch::kBytes / kRow;
  constexpr std::size_t kWord = sizeof(std::uint64_t);
  switch (call.api) {
    case Api::memcpy_2d_async:
      return cudaMemcpy2DAsync(s.device, kRow, s.pinned, kRow, kRow, kRows, cudaMemcpyHostToDevice, stream);
    case Api::memcpy_peer_async: return cudaMemcpyPeerAsync(s.device, 0, s.device + s.kBytes, 0, s.kBytes, stream);
    case Api::memcpy_to_symbol: return cudaMemcpyToSymbol(probe_symbol(), s.pageable, kWord, 0, cudaMemcpyHostToDevice);
    case Api::memcpy_to_symbol_async:
      return cudaMemcpyToSymbolAsync(probe_symbol(), s.pinned, kWord, 0, cudaMemcpyHostToDevice, stream);
    case Api::mem_prefetch_async:
      return cudaMemPrefetchAsync(s.managed, s.kBytes, {cudaMemLocationTypeDevice, 0}, 0, stream);
    case Api::stream_attach_mem_async: return cudaStreamAttachMemAsync(stream, s.managed, 0, cudaMemAttachGlobal);
    case Api::launch_host_func: return cudaLaunchHostFunc(stream, do_nothing, nullptr);
    case Api::stream_add_callback: return cudaStreamAddCallback(stream, do_nothing_after, nullptr, 0);
    default: return std::nullopt;
  }
}

}  // namespace refrain
