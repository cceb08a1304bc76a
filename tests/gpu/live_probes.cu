// Programs for the auditor of live processes, with the runtime linked in statically:
// `live_probes --list` names them with what the audit is to find, `live_probes CASE`
// is one. They are made wrong on purpose, but no replay touches memory that is gone:
// what is stale is handed to the kernel and not read.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

void check(cudaError_t code, const char* what) {
  if (code == cudaSuccess) return;
  std::fprintf(stderr, "live_probes: %s came back %s\n", what, cudaGetErrorName(code));
  std::exit(9);
}

struct Pair {
  float* used;
  const float* unused;
  int count;
};

__global__ void add_kernel(float* out, int count) {
  const int at = static_cast<int>(threadIdx.x);
  if (at < count) out[at] += 1.0f;
}

// `unused` is in the parameters all the same: the driver cannot tell what a kernel does with a pointer.
__global__ void pair_kernel(Pair pair) {
  const int at = static_cast<int>(threadIdx.x);
  if (at < pair.count) pair.used[at] += pair.unused == nullptr ? 1.0f : 2.0f;
}

float* device_floats() {
  float* out = nullptr;
  check(cudaMalloc(&out, 4096 * sizeof(float)), "cudaMalloc");
  check(cudaMemset(out, 0, 4096 * sizeof(float)), "cudaMemset");
  check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  return out;
}

cudaStream_t make_stream() {
  cudaStream_t stream = nullptr;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
  return stream;
}

template <class Work>
cudaGraph_t capture(cudaStream_t stream, Work work) {
  cudaGraph_t graph = nullptr;
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
  work();
  check(cudaStreamEndCapture(stream, &graph), "cudaStreamEndCapture");
  return graph;
}

cudaGraphExec_t instantiate(cudaGraph_t graph) {
  cudaGraphExec_t exec = nullptr;
  check(cudaGraphInstantiate(&exec, graph, 0), "cudaGraphInstantiate");
  return exec;
}

void replay(cudaGraphExec_t exec, cudaStream_t stream, int times) {
  for (int i = 0; i < times; ++i) {
    check(cudaGraphLaunch(exec, stream), "cudaGraphLaunch");
    check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  }
}

// Every kernel once, so that none is new inside a capture.
void warm_up(float* memory, cudaStream_t stream) {
  add_kernel<<<1, 32, 0, stream>>>(memory, 32);
  pair_kernel<<<1, 32, 0, stream>>>(Pair{memory, nullptr, 32});
  check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
}

void clean() {
  cudaStream_t stream = make_stream();
  float* memory = device_floats();
  warm_up(memory, stream);
  replay(instantiate(capture(stream, [&] { add_kernel<<<1, 32, 0, stream>>>(memory, 32); })), stream, 8);
}

void pointer_in_struct() {
  cudaStream_t stream = make_stream();
  float *memory = device_floats(), *other = device_floats();
  warm_up(memory, stream);
  cudaGraphExec_t exec = instantiate(capture(stream, [&] {
    pair_kernel<<<1, 32, 0, stream>>>(Pair{memory, other, 32});
  }));
  replay(exec, stream, 2);
  check(cudaFree(other), "cudaFree");
  replay(exec, stream, 2);
}

void count_up(void* counter) {
  ++*static_cast<int*>(counter);
}

void host_node() {
  cudaStream_t stream = make_stream();
  float* memory = device_floats();
  static int counter = 0;
  warm_up(memory, stream);
  cudaGraphExec_t exec = instantiate(capture(stream, [&] {
    add_kernel<<<1, 32, 0, stream>>>(memory, 32);
    check(cudaLaunchHostFunc(stream, count_up, &counter), "cudaLaunchHostFunc");
  }));
  replay(exec, stream, 4);
  if (counter != 4) std::exit(8);
}

__attribute__((noinline)) cudaGraph_t capture_of_local(float* memory, cudaStream_t stream) {
  float local[1024];
  for (float& value : local) value = 1.0f;
  return capture(stream, [&] {
    check(cudaMemcpyAsync(memory, local, sizeof local, cudaMemcpyHostToDevice, stream), "cudaMemcpyAsync");
  });
}

void stack_pointer() {
  cudaStream_t stream = make_stream();
  float* memory = device_floats();
  warm_up(memory, stream);
  replay(instantiate(capture_of_local(memory, stream)), stream, 4);
}

void child_graph() {
  cudaStream_t stream = make_stream();
  float *memory = device_floats(), *other = device_floats();
  warm_up(memory, stream);
  cudaGraph_t child = capture(stream, [&] { pair_kernel<<<1, 32, 0, stream>>>(Pair{memory, other, 32}); });
  cudaGraph_t parent = nullptr;
  cudaGraphNode_t node = nullptr;
  check(cudaGraphCreate(&parent, 0), "cudaGraphCreate");
  check(cudaGraphAddChildGraphNode(&node, parent, nullptr, 0, child), "cudaGraphAddChildGraphNode");
  check(cudaGraphDestroy(child), "cudaGraphDestroy");
  cudaGraphExec_t exec = instantiate(parent);
  replay(exec, stream, 2);
  check(cudaFree(other), "cudaFree");
  replay(exec, stream, 2);
}

/// The body of a new conditional node that is taken at every replay.
cudaGraph_t add_conditional(cudaGraph_t graph) {
  cudaGraphConditionalHandle handle{};
  check(cudaGraphConditionalHandleCreate(&handle, graph, 1, cudaGraphCondAssignDefault), "HandleCreate");
  cudaGraphNodeParams params{};
  params.type = cudaGraphNodeTypeConditional;
  params.conditional.handle = handle;
  params.conditional.type = cudaGraphCondTypeIf;
  params.conditional.size = 1;
  cudaGraphNode_t node = nullptr;
  check(cudaGraphAddNode(&node, graph, nullptr, nullptr, 0, &params), "cudaGraphAddNode");
  return params.conditional.phGraph_out[0];
}

/// `depth` conditional nodes inside each other; the innermost body is handed memory that goes.
void conditionals(int depth) {
  cudaStream_t stream = make_stream();
  float *memory = device_floats(), *other = device_floats();
  warm_up(memory, stream);
  cudaGraph_t graph = nullptr;
  check(cudaGraphCreate(&graph, 0), "cudaGraphCreate");
  cudaGraph_t body = graph;
  for (int i = 0; i < depth; ++i) body = add_conditional(body);
  check(cudaStreamBeginCaptureToGraph(stream, body, nullptr, nullptr, 0, cudaStreamCaptureModeThreadLocal),
        "cudaStreamBeginCaptureToGraph");
  pair_kernel<<<1, 32, 0, stream>>>(Pair{memory, other, 32});
  check(cudaStreamEndCapture(stream, nullptr), "cudaStreamEndCapture");
  cudaGraphExec_t exec = instantiate(graph);
  replay(exec, stream, 2);
  check(cudaFree(other), "cudaFree");
  replay(exec, stream, 2);
}

void conditional() {
  conditionals(1);
}

void nested_conditional() {
  conditionals(2);
}

// The exec goes on with the pointers of the second graph: what the first one held may go.
void exec_update(bool frees_new) {
  cudaStream_t stream = make_stream();
  float *memory = device_floats(), *first = device_floats(), *second = device_floats();
  warm_up(memory, stream);
  cudaGraphExec_t exec = instantiate(capture(stream, [&] {
    pair_kernel<<<1, 32, 0, stream>>>(Pair{memory, first, 32});
  }));
  replay(exec, stream, 2);
  cudaGraph_t next = capture(stream, [&] { pair_kernel<<<1, 32, 0, stream>>>(Pair{memory, second, 32}); });
  cudaGraphExecUpdateResultInfo result{};
  check(cudaGraphExecUpdate(exec, next, &result), "cudaGraphExecUpdate");
  check(cudaFree(frees_new ? second : first), "cudaFree");
  replay(exec, stream, 2);
}

void updated() {
  exec_update(false);
}

void updated_and_freed() {
  exec_update(true);
}

struct Case {
  const char* name;
  const char* expected;
  void (*run)();
};

constexpr Case kCases[] = {
    {"clean", "expect: none", clean},
    {"pointer_in_struct", "expect: RF401", pointer_in_struct},
    {"host_node", "expect-warning: RF105", host_node},
    {"stack_pointer", "expect: RF403", stack_pointer},
    {"child_graph", "expect: RF401", child_graph},
    {"conditional", "expect: RF401", conditional},
    {"nested_conditional", "expect: RF401", nested_conditional},
    {"updated", "expect: none", updated},
    {"updated_and_freed", "expect: RF401", updated_and_freed},
};

}  // namespace

int main(int argc, char** argv) {
  const char* wanted = argc > 1 ? argv[1] : "--list";
  for (const Case& c : kCases) {
    if (std::strcmp(wanted, "--list") == 0)
      std::printf("%s %s\n", c.name, c.expected);
    else if (std::strcmp(wanted, c.name) == 0)
      return c.run(), 0;
  }
  if (std::strcmp(wanted, "--list") == 0) return 0;
  std::fprintf(stderr, "live_probes: no case %s; live_probes --list names them\n", wanted);
  return 2;
}
