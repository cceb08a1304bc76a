#include <fmt/format.h>

#include "graphs/readers.hpp"

namespace refrain {
namespace {

/// Text inside a record label: DOT gives {}|<> and quotes a meaning of their own.
std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '{' || c == '}' || c == '|' || c == '<' || c == '>' || c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

std::string dim(const Dim3& d) {
  if (d.y == 1 && d.z == 1) return fmt::format("{}", d.x);
  return d.z == 1 ? fmt::format("\\{{{},{}\\}}", d.x, d.y) : fmt::format("\\{{{},{},{}\\}}", d.x, d.y, d.z);
}

const char* space(MemorySpace s) {
  switch (s) {
    case MemorySpace::pinned: return "HOST PINNED";
    case MemorySpace::pageable: return "HOST PAGEABLE";
    case MemorySpace::managed: return "MANAGED";
    default: return "DEVICE";
  }
}

bool on_host(MemorySpace s) {
  return s == MemorySpace::pinned || s == MemorySpace::pageable;
}

std::string copy_label(NodeId id, const CopyInfo& copy) {
  return fmt::format(
      "{{\nMEMCPY\n| {{{{ID | node handle}} | {{{} | 0x0000000000000000}}}}\n| {{kind | {}to{} ({} to {})}}\n"
      "| {{{{srcPtr | dstPtr}} | {{pitch | ptr | xsize | ysize | pitch | ptr | xsize | ysize}} | "
      "{{0 | 0x{:016X} | 0 | 0 | 0 | 0x{:016X} | 0 | 0}}}}\n"
      "| {{{{srcPos | {{{{x | 0}} | {{y | 0}} | {{z | 0}}}}}} | {{dstPos | {{{{x | 0}} | {{y | 0}} | {{z | 0}}}}}} | "
      "{{Extent | {{{{Width | {}}} | {{Height | 1}} | {{Depth | 1}}}}}}}}\n}}",
      id, on_host(copy.src_space) ? "H" : "D", on_host(copy.dst_space) ? "H" : "D", space(copy.src_space),
      space(copy.dst_space), copy.src, copy.dst, copy.bytes);
}

std::string fill_label(NodeId id, const FillInfo& fill) {
  const std::uint64_t width = fill.element_bytes == 0 ? fill.bytes : fill.bytes / fill.element_bytes;
  return fmt::format(
      "{{MEMSET\n| {{{{ID | node handle | dptr | pitch | value | elementSize | width | height}} | "
      "{{{} | 0x0000000000000000 | 0x{:016X} | 0 | {} | {} | {} | 1}}}}}}",
      id, fill.dst, fill.value, fill.element_bytes, width);
}

std::string body_name(const std::string& graph, NodeId node, std::size_t body) {
  return fmt::format("{}{:03}{:02}", graph, node, body);
}

std::string label(const Node& node, NodeId id, const std::string& number) {
  const auto plain = [&](const char* word) { return fmt::format("{}\n{}\n", id, word); };
  switch (node.kind) {
    case NodeKind::kernel:
      return fmt::format("{{KERNEL\n| {{ID | {} | {}\\<\\<\\<{},{},{}\\>\\>\\>}}\n}}", id,
                         escaped(node.mangled.empty() ? node.name : node.mangled), dim(node.grid), dim(node.block),
                         node.shared_bytes);
    case NodeKind::memcpy: return node.copy ? copy_label(id, *node.copy) : plain("MEMCPY");
    case NodeKind::memset: return node.fill ? fill_label(id, *node.fill) : plain("MEMSET");
    case NodeKind::mem_alloc:
      return fmt::format(
          "{{\nMEM_ALLOC\n| {{{{ID | node handle}} | {{{} | 0x0000000000000000}}}}\n| {{{{bytesize | dptr}} | {{{} | "
          "0x{:016X}}}}}\n}}",
          id, node.allocation ? node.allocation->bytes : 0, node.allocation ? node.allocation->address : 0);
    case NodeKind::mem_free:
      return fmt::format(
          "{{\nMEM_FREE\n| {{{{ID | node handle}} | {{{} | 0x0000000000000000}}}}\n| {{{{dptr}} | {{0x{:016X}}}}}\n}}",
          id, node.allocation ? node.allocation->address : 0);
    case NodeKind::host: return plain("HOST");
    case NodeKind::event_record: return plain("EVENT_RECORD");
    case NodeKind::event_wait: return plain("EVENT_WAIT");
    case NodeKind::empty: return plain("EMPTY");
    case NodeKind::child: return fmt::format("{}\ngraph_{}\n", id, body_name(number, id, 0));
    case NodeKind::conditional: {
      std::string text = fmt::format("{{\nCONDITIONAL\n| {{ID | {}}}\n| {{Conditional Type| IF}}\n", id);
      for (std::size_t i = 0; i < node.bodies.size(); ++i)
        text += fmt::format("| {{{}|graph_{}}}\n", i == 0 ? "True" : "False", body_name(number, id, i));
      return text + "}";
    }
    case NodeKind::batch_mem_op: return plain("BATCH_MEM_OP");
    case NodeKind::semaphore_signal: return plain("EXT_SEMAS_SIGNAL");
    case NodeKind::semaphore_wait: return plain("EXT_SEMAS_WAIT");
    case NodeKind::other: return plain(escaped(node.name).c_str());
  }
  return plain("EMPTY");
}

void write_cluster(const Graph& graph, const std::string& number, std::string& out) {
  out += fmt::format("subgraph cluster_{0} {{\nlabel=\"graph_{0}\" graph[style=\"dashed\"];\n", number);
  for (NodeId id = 0; id < graph.nodes.size(); ++id) {
    const Node& node = graph.nodes[id];
    const bool record = node.kind == NodeKind::kernel || node.copy || node.fill || node.allocation ||
                        node.kind == NodeKind::conditional;
    out += fmt::format("\"graph_{}_node_{}\"[style=\"{}\" shape=\"{}\" label=\"{}\"];\n\n", number, id,
                       node.kind == NodeKind::kernel ? "bold" : "solid", record ? "record" : "rectangle",
                       label(node, id, number));
  }
  for (const Edge& edge : graph.edges)
    out += fmt::format("\"graph_{0}_node_{1}\" -> \"graph_{0}_node_{2}\"{3};\n", number, edge.from, edge.to,
                       edge.kind == EdgeKind::programmatic ? " [style=dashed]" : "");
  out += "}\n";
  for (NodeId id = 0; id < graph.nodes.size(); ++id)
    for (std::size_t i = 0; i < graph.nodes[id].bodies.size(); ++i)
      write_cluster(graph.nodes[id].bodies[i], body_name(number, id, i), out);
}

}  // namespace

std::string write_dot(const Graph& graph) {
  std::string out = "digraph dot {\n";
  write_cluster(graph, "1", out);
  return out + "}\n";
}

}  // namespace refrain
