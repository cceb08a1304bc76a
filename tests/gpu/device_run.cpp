#include "tests/gpu/device_run.hpp"

#include <cuda_runtime_api.h>

namespace refrain::test {

Replay::Replay(const std::function<void(void* stream)>& enqueue) {
  cudaStream_t stream = nullptr;
  require_success(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
  stream_ = stream;
  require_success(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), "cudaStreamBeginCapture");
  enqueue(stream);
  cudaGraph_t graph = nullptr;
  const cudaError_t ended = cudaStreamEndCapture(stream, &graph);
  require_success(cudaGetLastError(), "a launch inside a capture");
  require_success(ended, "cudaStreamEndCapture");
  cudaGraphExec_t exec = nullptr;
  require_success(cudaGraphInstantiate(&exec, graph, 0), "cudaGraphInstantiate");
  exec_ = exec;
  require_success(cudaGraphDestroy(graph), "cudaGraphDestroy");
}

Replay::~Replay() {
  if (exec_ != nullptr) cudaGraphExecDestroy(static_cast<cudaGraphExec_t>(exec_));
  if (stream_ != nullptr) cudaStreamDestroy(static_cast<cudaStream_t>(stream_));
}

void Replay::run() {
  const auto stream = static_cast<cudaStream_t>(stream_);
  require_success(cudaGraphLaunch(static_cast<cudaGraphExec_t>(exec_), stream), "cudaGraphLaunch");
  require_success(cudaStreamSynchronize(stream), "a replay");
}

void run_directly(const std::function<void(void* stream)>& enqueue) {
  cudaStream_t stream = nullptr;
  require_success(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
  enqueue(stream);
  require_success(cudaGetLastError(), "a launch");
  require_success(cudaStreamSynchronize(stream), "a kernel");
  require_success(cudaStreamDestroy(stream), "cudaStreamDestroy");
}

void require_same(const Memory::Photo& got, const Memory::Photo& want) {
  REQUIRE(got.size() == want.size());
  for (std::size_t block = 0; block < want.size(); ++block) {
    if (got[block] == want[block]) continue;
    std::size_t first = 0, differing = 0;
    for (std::size_t i = want[block].size(); i-- > 0;) {
      if (got[block][i] == want[block][i]) continue;
      first = i;
      ++differing;
    }
    FAIL("block " << block << " of " << want[block].size() << " bytes: " << differing << " differ, the first at "
                  << first << ": " << static_cast<int>(got[block][first]) << " instead of "
                  << static_cast<int>(want[block][first]));
  }
}

}  // namespace refrain::test
