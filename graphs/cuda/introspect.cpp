#include "graphs/cuda/introspect.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "graphs/cuda/kernel_node.hpp"
#include "graphs/cuda/memory_nodes.hpp"

namespace refrain {
namespace {

// The number of a node kind that the driver has and the runtime's enum does not name.
constexpr int kBatchMemOp = 12;

NodeKind kind_of(int type) {
  switch (type) {
    case cudaGraphNodeTypeKernel: return NodeKind::kernel;
    case cudaGraphNodeTypeMemcpy: return NodeKind::memcpy;
    case cudaGraphNodeTypeMemset: return NodeKind::memset;
    case cudaGraphNodeTypeHost: return NodeKind::host;
    case cudaGraphNodeTypeGraph: return NodeKind::child;
    case cudaGraphNodeTypeEmpty: return NodeKind::empty;
    case cudaGraphNodeTypeWaitEvent: return NodeKind::event_wait;
    case cudaGraphNodeTypeEventRecord: return NodeKind::event_record;
    case cudaGraphNodeTypeExtSemaphoreSignal: return NodeKind::semaphore_signal;
    case cudaGraphNodeTypeExtSemaphoreWait: return NodeKind::semaphore_wait;
    case cudaGraphNodeTypeMemAlloc: return NodeKind::mem_alloc;
    case cudaGraphNodeTypeMemFree: return NodeKind::mem_free;
    case kBatchMemOp: return NodeKind::batch_mem_op;
    case cudaGraphNodeTypeConditional: return NodeKind::conditional;
    default: return NodeKind::other;
  }
}

std::vector<cudaGraphNode_t> nodes_of(cudaGraph_t graph) {
  std::size_t count = 0;
  check_cuda(cudaGraphGetNodes(graph, nullptr, &count), "cudaGraphGetNodes");
  std::vector<cudaGraphNode_t> nodes(count);
  if (count != 0) check_cuda(cudaGraphGetNodes(graph, nodes.data(), &count), "cudaGraphGetNodes");
  return nodes;
}

std::vector<Edge> edges_of(cudaGraph_t graph, const std::vector<cudaGraphNode_t>& nodes) {
  std::unordered_map<cudaGraphNode_t, NodeId> ids;
  for (std::size_t i = 0; i < nodes.size(); ++i) ids.emplace(nodes[i], static_cast<NodeId>(i));
  std::size_t count = 0;
  check_cuda(cudaGraphGetEdges(graph, nullptr, nullptr, nullptr, &count), "cudaGraphGetEdges");
  std::vector<cudaGraphNode_t> from(count), to(count);
  // Without room for the edge data a programmatic edge would be an error (cudaErrorLossyQuery).
  std::vector<cudaGraphEdgeData> data(count);
  if (count != 0)
    check_cuda(cudaGraphGetEdges(graph, from.data(), to.data(), data.data(), &count), "cudaGraphGetEdges");
  std::vector<Edge> edges;
  for (std::size_t i = 0; i < count; ++i) {
    const bool programmatic = data[i].type == cudaGraphDependencyTypeProgrammatic;
    edges.push_back({ids.at(from[i]), ids.at(to[i]), programmatic ? EdgeKind::programmatic : EdgeKind::full});
  }
  return edges;
}

class GraphReader {
 public:
  GraphReader() : calls_(DriverCalls::load()), memory_(calls_) {}

  IntrospectedGraph read(cudaGraph_t from) {
    IntrospectedGraph out;
    const std::vector<cudaGraphNode_t> nodes = nodes_of(from);
    Graph& graph = out.graph;
    graph.nodes.resize(nodes.size());
    for (NodeId id = 0; id < nodes.size(); ++id) read_kind(nodes[id], id, graph);
    for (NodeId id = 0; id < nodes.size(); ++id) {
      read_work(nodes[id], id, graph);
      note_addresses(graph, graph.nodes[id]);
      out.handles.push_back(reinterpret_cast<std::uint64_t>(nodes[id]));
    }
    graph.edges = edges_of(from, nodes);
    return out;
  }

 private:
  // Alloc nodes come first: what other nodes do with their memory can only be told once it is known.
  void read_kind(cudaGraphNode_t from, NodeId id, Graph& graph) {
    Node& node = graph.nodes[id];
    cudaGraphNodeType type = cudaGraphNodeTypeEmpty;
    check_cuda(cudaGraphNodeGetType(from, &type), "cudaGraphNodeGetType");
    node.kind = kind_of(static_cast<int>(type));
    node.name = to_string(node.kind);
    if (node.kind == NodeKind::other)
      graph.notes.push_back(
          fmt::format("node {}: of a kind that CUDA 13.0 does not name ({})", id, fmt::underlying(type)));
    if (node.kind != NodeKind::mem_alloc) return;
    read_alloc_node(from, node);
    memory_.add_graph_allocation(*node.allocation, id);
  }

  void read_work(cudaGraphNode_t from, NodeId id, Graph& graph) {
    Node& node = graph.nodes[id];
    switch (node.kind) {
      case NodeKind::kernel:
        if (!read_kernel_node(calls_, from, node)) unseen(graph, Unseen::kernel_params);
        break;
      case NodeKind::memcpy:
        if (!read_memcpy_node(calls_, memory_, from, node)) note_strided(graph, id, "copy");
        break;
      case NodeKind::memset:
        if (!read_memset_node(from, node)) note_strided(graph, id, "fill");
        break;
      case NodeKind::mem_free: read_free_node(from, node); break;
      case NodeKind::child: read_child(from, graph, node); break;
      case NodeKind::conditional: unseen(graph, Unseen::bodies); break;
      default: break;
    }
  }

  void read_child(cudaGraphNode_t from, Graph& graph, Node& node) {
    cudaGraph_t body = nullptr;
    check_cuda(cudaGraphChildGraphNodeGetGraph(from, &body), "cudaGraphChildGraphNodeGetGraph");
    node.bodies.push_back(read(body).graph);
    for (const Unseen what : node.bodies.back().capture.unseen) unseen(graph, what);
  }

  void note_addresses(Graph& graph, const Node& node) {
    for (const Param& param : node.params) memory_.note_words(graph, param.bytes, param.offset);
    if (node.copy) {
      memory_.note(graph, node.copy->src);
      memory_.note(graph, node.copy->dst);
    }
    if (node.fill) memory_.note(graph, node.fill->dst);
    if (node.allocation) memory_.note(graph, node.allocation->address);
  }

  static void unseen(Graph& graph, Unseen what) {
    if (!graph.capture.cannot_see(what)) graph.capture.unseen.push_back(what);
  }

  static void note_strided(Graph& graph, NodeId id, const char* work) {
    graph.notes.push_back(fmt::format("node {}: a strided {}; its addresses are left out", id, work));
  }

  DriverCalls calls_;
  KnownMemory memory_;
};

}  // namespace

IntrospectedGraph introspect_graph(cudaGraph_t graph) {
  return GraphReader().read(graph);
}

}  // namespace refrain
