// The CUDA driver's calls about streams and events, and those that wait.
#include "runtime/cuda/cuda_driver.hpp"
#include "runtime/cuda/cuda_status.hpp"

namespace refrain {
namespace {

cudaError_t make_stream(Call& call) {
  cudaStream_t made = nullptr;
  const cudaError_t code = cudaStreamCreateWithFlags(&made, call.blocking ? cudaStreamDefault : cudaStreamNonBlocking);
  call.stream = {number_of(made)};
  return code;
}

/// With timing: people's code asks cudaEventElapsedTime of it.
cudaError_t make_event(Call& call) {
  cudaEvent_t made = nullptr;
  const cudaError_t code = cudaEventCreate(&made);
  call.event = {number_of(made)};
  return code;
}

cudaError_t elapsed(cudaEvent_t event) {
  float milliseconds = 0;
  return cudaEventElapsedTime(&milliseconds, event, event);
}

}  // namespace

CudaDriver::Answer CudaDriver::streams(Call& call) {
  switch (call.api) {
    case Api::stream_synchronize: return cudaStreamSynchronize(stream_of(call));
    case Api::stream_query: return cudaStreamQuery(stream_of(call));
    case Api::device_synchronize: return cudaDeviceSynchronize();
    case Api::stream_create: return make_stream(call);
    case Api::stream_destroy: return cudaStreamDestroy(stream_of(call));
    default: return std::nullopt;
  }
}

CudaDriver::Answer CudaDriver::events(Call& call) {
  const auto event = handle_of<cudaEvent_t>(call.event.id);
  const cudaEvent_t asked = event != nullptr ? event : scratch_.event;
  switch (call.api) {
    case Api::event_record: return cudaEventRecord(event, stream_of(call));
    case Api::event_record_external: return cudaEventRecordWithFlags(event, stream_of(call), cudaEventRecordExternal);
    case Api::stream_wait_event: return cudaStreamWaitEvent(stream_of(call), event, cudaEventWaitDefault);
    case Api::stream_wait_event_external: return cudaStreamWaitEvent(stream_of(call), event, cudaEventWaitExternal);
    case Api::event_query: return cudaEventQuery(asked);
    case Api::event_synchronize: return cudaEventSynchronize(asked);
    case Api::event_elapsed_time: return elapsed(asked);
    case Api::event_create: return make_event(call);
    case Api::event_destroy: return cudaEventDestroy(event);
    default: return std::nullopt;
  }
}

}  // namespace refrain
