// The CUDA driver's calls about captures, graphs and graph execs.
#include "runtime/cuda/cuda_driver.hpp"
#include "runtime/cuda/cuda_status.hpp"

namespace refrain {
namespace {

cudaStreamCaptureMode mode_of(CaptureMode mode) {
  switch (mode) {
    case CaptureMode::thread_local_: return cudaStreamCaptureModeThreadLocal;
    case CaptureMode::relaxed: return cudaStreamCaptureModeRelaxed;
    default: return cudaStreamCaptureModeGlobal;
  }
}

CaptureMode mode_of(cudaStreamCaptureMode mode) {
  switch (mode) {
    case cudaStreamCaptureModeThreadLocal: return CaptureMode::thread_local_;
    case cudaStreamCaptureModeRelaxed: return CaptureMode::relaxed;
    default: return CaptureMode::global;
  }
}

cudaError_t exchange_mode(Call& call) {
  cudaStreamCaptureMode mode = mode_of(call.mode);
  const cudaError_t code = cudaThreadExchangeStreamCaptureMode(&mode);
  if (code == cudaSuccess) call.mode = mode_of(mode);
  return code;
}

cudaError_t end_stream_capture(Call& call, cudaStream_t stream) {
  cudaGraph_t graph = nullptr;
  const cudaError_t code = cudaStreamEndCapture(stream, &graph);
  call.graph = {number_of(graph)};
  return code;
}

cudaError_t is_capturing(cudaStream_t stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  return cudaStreamIsCapturing(stream, &status);
}

/// The nodes that the stream's next one will depend on; none outside a capture.
cudaError_t frontier(const Call& call, cudaStream_t stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  const cudaGraphNode_t* nodes = nullptr;
  const cudaGraphEdgeData* edges = nullptr;  // asked for, because a programmatic edge without room for it is an error
  std::size_t count = 0;
  const cudaError_t code = cudaStreamGetCaptureInfo(stream, &status, nullptr, nullptr, &nodes, &edges, &count);
  if (call.nodes == nullptr) return code;
  call.nodes->clear();
  if (code != cudaSuccess || status != cudaStreamCaptureStatusActive) return code;
  for (std::size_t i = 0; i < count; ++i) call.nodes->push_back(number_of(nodes[i]));
  return code;
}

cudaError_t instantiate_graph(Call& call, cudaGraph_t graph) {
  cudaGraphExec_t exec = nullptr;
  const cudaError_t code = cudaGraphInstantiate(&exec, graph, 0);
  call.exec = {number_of(exec)};
  return code;
}

}  // namespace

CudaDriver::Answer CudaDriver::capture(Call& call) {
  const cudaStream_t stream = stream_of(call);
  switch (call.api) {
    case Api::begin_capture: {
      const std::lock_guard lock(capture_lock_);
      return cudaStreamBeginCapture(stream, mode_of(call.mode));
    }
    case Api::end_capture: {
      const std::lock_guard lock(capture_lock_);
      return end_stream_capture(call, stream);
    }
    case Api::exchange_capture_mode: return exchange_mode(call);
    case Api::stream_is_capturing: return is_capturing(stream);
    case Api::stream_get_capture_info: return frontier(call, stream);
    default: return std::nullopt;
  }
}

CudaDriver::Answer CudaDriver::graphs(Call& call) {
  const auto graph = handle_of<cudaGraph_t>(call.graph.id);
  const auto exec = handle_of<cudaGraphExec_t>(call.exec.id);
  switch (call.api) {
    case Api::graph_launch: return cudaGraphLaunch(exec, stream_of(call));
    case Api::graph_upload: return cudaGraphUpload(exec, stream_of(call));
    case Api::graph_instantiate: return instantiate_graph(call, graph);
    case Api::graph_exec_update: {
      cudaGraphExecUpdateResultInfo why{};
      return cudaGraphExecUpdate(exec, graph, &why);
    }
    case Api::graph_destroy: return cudaGraphDestroy(graph);
    case Api::graph_exec_destroy: return cudaGraphExecDestroy(exec);
    default: return std::nullopt;
  }
}

}  // namespace refrain
