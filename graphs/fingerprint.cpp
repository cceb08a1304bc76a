// FNV-1a, 64 bits, over what a step is and not where it lies: no address, no
// parameter byte, no allocation id, no scope or call site. Buffers are numbered
// by first use, so that the order in which they were registered does not matter.
#include <algorithm>
#include <string_view>
#include <tuple>

#include <fmt/format.h>

#include "graphs/graph.hpp"

namespace refrain {
namespace {

class Hash {
 public:
  void number(std::uint64_t value) {
    for (int shift = 0; shift < 64; shift += 8) byte(static_cast<std::uint8_t>(value >> shift));
  }
  void text(std::string_view value) {
    number(value.size());  // so that "ab" + "c" is not "a" + "bc"
    for (const char c : value) byte(static_cast<std::uint8_t>(c));
  }
  template <class Enum>
  void word(Enum value) {
    byte(static_cast<std::uint8_t>(value));
  }
  [[nodiscard]] std::uint64_t value() const { return state_; }

 private:
  void byte(std::uint8_t value) { state_ = (state_ ^ value) * 0x100000001b3; }
  std::uint64_t state_ = 0xcbf29ce484222325;
};

class GraphHash {
 public:
  GraphHash(Hash& hash, const Graph& graph) : hash_(hash), graph_(graph), number_(graph.buffers.size(), 0) {}

  void run() {
    hash_.number(graph_.nodes.size());
    for (const Node& node : graph_.nodes) add(node);
    add_edges();
    hash_.number(graph_.entry.size());
    for (const EntryFact& entry : graph_.entry) {
      hash_.word(entry.fact);
      add(entry.buffer, entry.range);
      hash_.word(entry.origin);
    }
  }

 private:
  void add(const Dim3& dims) {
    hash_.number(dims.x);
    hash_.number(dims.y);
    hash_.number(dims.z);
  }

  void add(BufferId id, const ByteRange& range) {
    const bool first_use = number_[id] == 0;
    if (first_use) number_[id] = ++used_;
    hash_.number(number_[id]);
    hash_.number(range.begin);
    hash_.number(range.end);
    if (!first_use) return;
    const Buffer& buffer = graph_.buffers[id];
    hash_.word(buffer.role);
    hash_.number(buffer.bytes);
    hash_.word(buffer.dtype);
    hash_.word(buffer.space);
    if (buffer.shared) hash_.text("shared");
    if (buffer.reserved.empty()) return;
    hash_.text("reserved");
    hash_.number(buffer.reserved.begin);
    hash_.number(buffer.reserved.end);
  }

  void add(const NodeAccess& access) {
    add(access.buffer, access.range);
    hash_.word(access.mode);
    hash_.word(access.reach);
    hash_.word(access.role);
    hash_.word(access.dtype);
  }

  void add(const std::vector<NodeClaim>& claims) {
    hash_.number(claims.size());
    for (const NodeClaim& claim : claims) {
      hash_.word(claim.fact);
      add(claim.buffer, claim.range);
    }
  }

  void add_device_work(const Node& node) {
    hash_.number((node.copy ? 1U : 0U) | (node.fill ? 2U : 0U) | (node.allocation ? 4U : 0U));
    if (node.copy) {
      hash_.number(node.copy->bytes);
      hash_.word(node.copy->src_space);
      hash_.word(node.copy->dst_space);
    }
    if (node.fill) {
      hash_.number(node.fill->bytes);
      hash_.number(node.fill->value);
      hash_.number(node.fill->element_bytes);
    }
    if (node.allocation) hash_.number(node.allocation->bytes);
  }

  void add(const Node& node) {
    hash_.word(node.kind);
    // A dump names a child by CUDA's graph id, which differs from run to run; its body is hashed anyway.
    hash_.text(node.kind == NodeKind::child && node.name.starts_with("child graph_") ? "child graph" : node.name);
    add(node.grid);
    add(node.block);
    hash_.number(node.shared_bytes);
    hash_.text(node.op);
    hash_.number(node.has_contract ? 1 : 0);
    hash_.number(node.accesses.size());
    for (const NodeAccess& access : node.accesses) add(access);
    add(node.needs);
    add(node.gives);
    add_device_work(node);
    hash_.number(node.bodies.size());
    for (const Graph& body : node.bodies) GraphHash(hash_, body).run();
  }

  // The order in which edges were listed says nothing about the graph.
  void add_edges() {
    std::vector<Edge> edges = graph_.edges;
    std::sort(edges.begin(), edges.end(), [](const Edge& a, const Edge& b) {
      return std::tie(a.from, a.to, a.kind) < std::tie(b.from, b.to, b.kind);
    });
    hash_.number(edges.size());
    for (const Edge& edge : edges) {
      hash_.number(edge.from);
      hash_.number(edge.to);
      hash_.word(edge.kind);
    }
  }

  Hash& hash_;
  const Graph& graph_;
  std::vector<std::uint32_t> number_;  // per buffer: 1-based order of first use, 0 = not used yet
  std::uint32_t used_ = 0;
};

}  // namespace

std::string fingerprint(const Graph& graph) {
  Hash hash;
  GraphHash(hash, graph).run();
  return fmt::format("{:016x}", hash.value());
}

}  // namespace refrain
