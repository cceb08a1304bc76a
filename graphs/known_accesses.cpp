#include <algorithm>
#include <limits>

#include "graphs/graph.hpp"

namespace refrain {
namespace {

Address end_of(Address base, std::uint64_t bytes) {
  return base > std::numeric_limits<Address>::max() - bytes ? std::numeric_limits<Address>::max() : base + bytes;
}

/// The live buffers of a graph by base; they do not overlap.
class LiveBuffers {
 public:
  explicit LiveBuffers(const Graph& graph) : graph_(graph) {
    for (BufferId id = 0; id < graph.buffers.size(); ++id)
      if (!graph.buffers[id].died) by_base_.push_back(id);
    std::sort(by_base_.begin(), by_base_.end(), [&](BufferId a, BufferId b) { return base(a) < base(b); });
  }

  void touch(Node& node, Address address, std::uint64_t bytes, Mode mode, bool zeroed) const {
    const Address limit = end_of(address, bytes);
    auto at = std::upper_bound(by_base_.begin(), by_base_.end(), address,
                               [&](Address a, BufferId id) { return a < base(id); });
    if (at != by_base_.begin()) --at;
    for (; at != by_base_.end() && base(*at) < limit; ++at) {
      const Buffer& buffer = graph_.buffers[*at];
      const Address begin = std::max(address, buffer.base), end = std::min(limit, end_of(buffer.base, buffer.bytes));
      if (begin >= end) continue;
      const ByteRange range{begin - buffer.base, end - buffer.base};
      node.accesses.push_back({*at, range, mode, Reach::exact, buffer.role, buffer.dtype, Certainty::proven});
      if (zeroed) node.gives.push_back({Fact::zeroed, *at, range});
    }
  }

 private:
  [[nodiscard]] Address base(BufferId id) const { return graph_.buffers[id].base; }

  const Graph& graph_;
  std::vector<BufferId> by_base_;
};

}  // namespace

void attach_known_accesses(Graph& graph) {
  const LiveBuffers buffers(graph);
  for (Node& node : graph.nodes) {
    for (Graph& body : node.bodies) attach_known_accesses(body);
    if (node.has_contract || !node.accesses.empty()) continue;
    if (node.copy && node.copy->src != 0 && node.copy->dst != 0) {
      buffers.touch(node, node.copy->src, node.copy->bytes, Mode::read, false);
      buffers.touch(node, node.copy->dst, node.copy->bytes, Mode::write, false);
      node.has_contract = true;
    } else if (node.fill && node.fill->dst != 0) {
      buffers.touch(node, node.fill->dst, node.fill->bytes, Mode::write, node.fill->value == 0);
      node.has_contract = true;
    }
  }
}

}  // namespace refrain
