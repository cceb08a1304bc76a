// A captured cudaGraph_t as data: kinds, edges, parameters, buffers.
#include "graphs/cuda/introspect.hpp"

#include <algorithm>
#include <cstring>
#include <functional>
#include <string>

#include "graphs/cuda/driver_calls.hpp"
#include "kernels/device_code.hpp"
#include "kernels/rms_norm.hpp"
#include "tests/catch.hpp"
#include "tests/gpu/introspect_kernels.hpp"

using namespace refrain;

namespace {

constexpr std::size_t kBytes = 4096;
constexpr std::size_t kCount = kBytes / sizeof(float);

struct Memory {
  Memory() {
    for (float** p : {&a, &b, &out}) check_cuda(cudaMalloc(reinterpret_cast<void**>(p), kBytes), "cudaMalloc");
    check_cuda(cudaMallocHost(reinterpret_cast<void**>(&pinned), kBytes), "cudaMallocHost");
  }
  ~Memory() {
    for (float* p : {a, b, out}) (void)cudaFree(p);
    (void)cudaFreeHost(pinned);
  }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  float *a = nullptr, *b = nullptr, *out = nullptr, *pinned = nullptr;
  float pageable[kCount] = {};
};

/// Captures what `enqueue` does, reads it, and destroys it.
IntrospectedGraph captured(const std::function<void(cudaStream_t)>& enqueue) {
  cudaStream_t stream = nullptr;
  check_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
  check_cuda(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
  enqueue(stream);
  cudaGraph_t graph = nullptr;
  check_cuda(cudaStreamEndCapture(stream, &graph), "cudaStreamEndCapture");
  IntrospectedGraph seen = introspect_graph(graph);
  check_cuda(cudaGraphDestroy(graph), "cudaGraphDestroy");
  check_cuda(cudaStreamDestroy(stream), "cudaStreamDestroy");
  return seen;
}

Address address_of(const void* pointer) {
  return reinterpret_cast<Address>(pointer);
}

const Buffer* buffer_at(const Graph& graph, const void* pointer) {
  const Address address = address_of(pointer);
  const auto found = std::find_if(graph.buffers.begin(), graph.buffers.end(),
                                  [&](const Buffer& b) { return address >= b.base && address < b.base + b.bytes; });
  return found == graph.buffers.end() ? nullptr : &*found;
}

const Node& only(const Graph& graph, NodeKind kind) {
  const auto is_kind = [&](const Node& node) { return node.kind == kind; };
  REQUIRE(std::count_if(graph.nodes.begin(), graph.nodes.end(), is_kind) == 1);
  return *std::find_if(graph.nodes.begin(), graph.nodes.end(), is_kind);
}

template <class T>
T value_of(const Param& param, std::size_t at = 0) {
  T value{};
  REQUIRE(param.bytes.size() >= at + sizeof value);
  std::memcpy(&value, param.bytes.data() + at, sizeof value);
  return value;
}

}  // namespace

TEST_CASE("introspection: a kernel node has its name, its dims and every parameter's bytes") {
  Memory m;
  const IntrospectedGraph seen = captured([&](cudaStream_t stream) {
    check_cuda(test::launch_blend(m.out, 3, {m.a, m.b, 7}, 0.5, stream), "launch");
  });
  const Graph& graph = seen.graph;
  REQUIRE(graph.nodes.size() == 1);
  const Node& node = graph.nodes[0];
  CHECK(node.kind == NodeKind::kernel);
  CHECK(node.mangled.find("blend_kernel") != std::string::npos);
  CHECK(node.name.find("blend_kernel(float*, int, refrain::test::Sources, double)") != std::string::npos);
  CHECK(node.grid == Dim3{2, 3, 1});
  CHECK(node.block == Dim3{64, 1, 1});
  CHECK(node.shared_bytes == 128);
  // Offsets by C's alignment: a pointer, an int, a struct aligned to 8, a double.
  REQUIRE(node.params.size() == 4);
  const std::size_t offsets[] = {0, 8, 16, 40}, sizes[] = {8, 4, 24, 8};
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(node.params[i].offset == offsets[i]);
    CHECK(node.params[i].size == sizes[i]);
    CHECK(node.params[i].bytes.size() == sizes[i]);
  }
  CHECK(value_of<float*>(node.params[0]) == m.out);
  CHECK(value_of<int>(node.params[1]) == 3);
  CHECK(value_of<const float*>(node.params[2], 0) == m.a);
  CHECK(value_of<const float*>(node.params[2], 8) == m.b);
  CHECK(value_of<int>(node.params[2], 16) == 7);
  CHECK(value_of<double>(node.params[3]) == 0.5);
  CHECK(graph.capture.unseen.empty());
}

TEST_CASE("introspection: pointers inside a struct lead to buffers, one for each allocation") {
  Memory m;
  const IntrospectedGraph seen = captured([&](cudaStream_t stream) {
    check_cuda(test::launch_blend(m.out, 3, {m.a, m.b, 7}, 0.5, stream), "launch");
    check_cuda(test::launch_blend(m.out + 8, 3, {m.a, m.a + 1, 7}, 0.5, stream), "launch");
  });
  const Graph& graph = seen.graph;
  CHECK(graph.buffers.size() == 3);
  for (const float* pointer : {m.a, m.b, m.out}) {
    const Buffer* buffer = buffer_at(graph, pointer);
    REQUIRE(buffer != nullptr);
    CHECK(buffer->base == address_of(pointer));
    CHECK(buffer->bytes == kBytes);
    CHECK(buffer->space == MemorySpace::device);
    CHECK(buffer->allocation != 0);
  }
  CHECK(buffer_at(graph, m.a)->allocation != buffer_at(graph, m.b)->allocation);
}

TEST_CASE("introspection: an allocation at a freed address has another identity") {
  float* first = nullptr;
  check_cuda(cudaMalloc(reinterpret_cast<void**>(&first), kBytes), "cudaMalloc");
  const auto fill = [](float* to) {
    return captured(
        [to](cudaStream_t stream) { check_cuda(cudaMemsetAsync(to, 0, kBytes, stream), "cudaMemsetAsync"); });
  };
  const Graph before = fill(first).graph;
  check_cuda(cudaFree(first), "cudaFree");
  float* second = nullptr;
  check_cuda(cudaMalloc(reinterpret_cast<void**>(&second), kBytes), "cudaMalloc");
  const Graph after = fill(second).graph;
  check_cuda(cudaFree(second), "cudaFree");
  REQUIRE(before.buffers.size() == 1);
  REQUIRE(after.buffers.size() == 1);
  CHECK(before.buffers[0].allocation != after.buffers[0].allocation);
}

TEST_CASE("introspection: copies say where from and to, and what kind of memory that is") {
  Memory m;
  const auto copy = [&](void* to, const void* from) {
    const Graph graph = captured([&](cudaStream_t stream) {
                          check_cuda(cudaMemcpyAsync(to, from, 2048, cudaMemcpyDefault, stream), "cudaMemcpyAsync");
                        }).graph;
    const Node& node = only(graph, NodeKind::memcpy);
    REQUIRE(node.copy);
    CHECK(node.copy->src == address_of(from));
    CHECK(node.copy->dst == address_of(to));
    CHECK(node.copy->bytes == 2048);
    return std::pair{node.copy->src_space, node.copy->dst_space};
  };
  CHECK(copy(m.a, m.b) == std::pair{MemorySpace::device, MemorySpace::device});
  CHECK(copy(m.a, m.pinned) == std::pair{MemorySpace::pinned, MemorySpace::device});
  CHECK(copy(m.pinned, m.a) == std::pair{MemorySpace::device, MemorySpace::pinned});
  CHECK(copy(m.a, m.pageable) == std::pair{MemorySpace::pageable, MemorySpace::device});
  CHECK(copy(m.pageable, m.a) == std::pair{MemorySpace::device, MemorySpace::pageable});
}

TEST_CASE("introspection: a strided copy keeps its size and the address of its contiguous side alone") {
  Memory m;
  const Graph graph = captured([&](cudaStream_t stream) {
                        check_cuda(cudaMemcpy2DAsync(m.a, 64, m.pinned, 128, 64, 4, cudaMemcpyHostToDevice, stream),
                                   "cudaMemcpy2DAsync");
                      }).graph;
  const Node& node = only(graph, NodeKind::memcpy);
  REQUIRE(node.copy);
  CHECK(node.copy->bytes == 256);
  CHECK(node.copy->src == 0);
  CHECK(node.copy->dst == address_of(m.a));
  CHECK(node.copy->src_space == MemorySpace::pinned);
  CHECK(graph.notes.size() == 1);
}

TEST_CASE("introspection: a memset says what it fills") {
  Memory m;
  const Graph graph = captured([&](cudaStream_t stream) {
                        check_cuda(cudaMemsetAsync(m.b, 0x7F, 1000, stream), "cudaMemsetAsync");
                      }).graph;
  const Node& node = only(graph, NodeKind::memset);
  REQUIRE(node.fill);
  CHECK(node.fill->dst == address_of(m.b));
  CHECK(node.fill->bytes == 1000);
  CHECK((node.fill->value & 0xFF) == 0x7F);
  CHECK(buffer_at(graph, m.b) != nullptr);
}

TEST_CASE("introspection: memory that a graph allocates is a buffer of it, though CUDA knows nothing of it yet") {
  void* made = nullptr;
  const Graph graph = captured([&](cudaStream_t stream) {
                        check_cuda(cudaMallocAsync(&made, 8192, stream), "cudaMallocAsync");
                        check_cuda(cudaMemsetAsync(made, 0, 8192, stream), "cudaMemsetAsync");
                        check_cuda(cudaFreeAsync(made, stream), "cudaFreeAsync");
                      }).graph;
  REQUIRE(graph.nodes.size() == 3);
  const Node& alloc = only(graph, NodeKind::mem_alloc);
  CHECK(alloc.allocation->address == address_of(made));
  CHECK(alloc.allocation->bytes == 8192);
  CHECK(only(graph, NodeKind::mem_free).allocation->address == address_of(made));
  CHECK(only(graph, NodeKind::memset).fill->dst == address_of(made));
  REQUIRE(graph.buffers.size() == 1);
  CHECK(graph.buffers[0].base == address_of(made));
  CHECK(graph.buffers[0].bytes == 8192);
  CHECK(graph.buffers[0].space == MemorySpace::device);
}

TEST_CASE("introspection: an op starts early where its code waits and nowhere else") {
  Memory m;
  const RmsNormArgs args{.x = m.a,
                         .weight = m.b,
                         .rows = reinterpret_cast<const std::int32_t*>(m.pinned),
                         .bucket = 1,
                         .width = 8,
                         .out = m.out};
  const Graph graph = captured([&](cudaStream_t stream) {
                        rms_norm.launch(args, stream);
                        rms_norm.launch_early(args, stream);
                      }).graph;
  REQUIRE(graph.edges.size() == 1);
  // Not where the device is new enough: it may run code that is not (tried by CUDA_FORCE_PTX_JIT=1).
  CHECK((graph.edges[0].kind == EdgeKind::programmatic) == (code_architecture() >= 90));
}

TEST_CASE("introspection: edges follow the streams, and a programmatic launch makes a programmatic edge") {
  Memory m;
  const IntrospectedGraph seen = captured([&](cudaStream_t stream) {
    check_cuda(test::launch_blend(m.out, 3, {m.a, m.b, 7}, 0.5, stream), "launch");
    check_cuda(test::launch_early(m.out, stream), "launch");
    check_cuda(cudaMemsetAsync(m.out, 0, 256, stream), "cudaMemsetAsync");
  });
  const Graph& graph = seen.graph;
  REQUIRE(graph.nodes.size() == 3);
  CHECK(seen.handles.size() == 3);
  REQUIRE(graph.edges.size() == 2);
  for (const Edge& edge : graph.edges) {
    const bool early = graph.nodes[edge.to].name.find("early_kernel") != std::string::npos;
    CHECK((edge.kind == EdgeKind::programmatic) == early);
    if (!early) CHECK(graph.nodes[edge.to].kind == NodeKind::memset);
  }
}

TEST_CASE("introspection: host calls and external events are nodes of their kinds") {
  cudaEvent_t event = nullptr;
  check_cuda(cudaEventCreate(&event), "cudaEventCreate");
  const Graph graph = captured([&](cudaStream_t stream) {
                        check_cuda(cudaEventRecordWithFlags(event, stream, cudaEventRecordExternal), "cudaEventRecord");
                        check_cuda(cudaLaunchHostFunc(
                                       stream, [](void*) {}, nullptr),
                                   "cudaLaunchHostFunc");
                        check_cuda(cudaStreamWaitEvent(stream, event, cudaEventWaitExternal), "cudaStreamWaitEvent");
                      }).graph;
  check_cuda(cudaEventDestroy(event), "cudaEventDestroy");
  REQUIRE(graph.nodes.size() == 3);
  (void)only(graph, NodeKind::event_record);
  (void)only(graph, NodeKind::host);
  (void)only(graph, NodeKind::event_wait);
}

TEST_CASE("introspection: a child graph is the body of its node") {
  Memory m;
  cudaGraph_t child = nullptr, parent = nullptr;
  check_cuda(cudaGraphCreate(&child, 0), "cudaGraphCreate");
  check_cuda(cudaGraphCreate(&parent, 0), "cudaGraphCreate");
  cudaMemsetParams fill{};
  fill.dst = m.out;
  fill.elementSize = 1;
  fill.width = 64;
  fill.height = 1;
  cudaGraphNode_t inner = nullptr, outer = nullptr, empty = nullptr;
  check_cuda(cudaGraphAddMemsetNode(&inner, child, nullptr, 0, &fill), "cudaGraphAddMemsetNode");
  check_cuda(cudaGraphAddChildGraphNode(&outer, parent, nullptr, 0, child), "cudaGraphAddChildGraphNode");
  check_cuda(cudaGraphAddEmptyNode(&empty, parent, &outer, 1), "cudaGraphAddEmptyNode");
  const IntrospectedGraph seen = introspect_graph(parent);
  check_cuda(cudaGraphDestroy(parent), "cudaGraphDestroy");
  check_cuda(cudaGraphDestroy(child), "cudaGraphDestroy");
  REQUIRE(seen.graph.nodes.size() == 2);
  (void)only(seen.graph, NodeKind::empty);
  const Node& node = only(seen.graph, NodeKind::child);
  REQUIRE(node.bodies.size() == 1);
  REQUIRE(node.bodies[0].nodes.size() == 1);
  CHECK(node.bodies[0].nodes[0].fill->dst == address_of(m.out));
  CHECK(buffer_at(node.bodies[0], m.out) != nullptr);
  REQUIRE(seen.graph.edges.size() == 1);
  CHECK(seen.graph.nodes[seen.graph.edges[0].from].kind == NodeKind::child);
}
