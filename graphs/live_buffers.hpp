// The buffers of a graph that are alive and have an address, by base: which of
// them holds an address. A view: the graph must outlive it and keep its buffers.
#pragma once

#include <algorithm>
#include <iterator>
#include <optional>
#include <vector>

#include "graphs/graph.hpp"

namespace refrain {

class LiveBuffers {
 public:
  explicit LiveBuffers(const Graph& graph) : graph_(graph) {
    for (BufferId id = 0; id < graph.buffers.size(); ++id)
      if (!graph.buffers[id].died && graph.buffers[id].base != 0) by_base_.push_back(id);
    std::sort(by_base_.begin(), by_base_.end(), [&](BufferId a, BufferId b) { return base(a) < base(b); });
  }

  [[nodiscard]] std::optional<BufferId> at(Address address) const {
    const auto next = std::upper_bound(by_base_.begin(), by_base_.end(), address,
                                       [&](Address a, BufferId id) { return a < base(id); });
    if (next == by_base_.begin()) return std::nullopt;
    const BufferId id = *std::prev(next);
    return address - base(id) < graph_.buffers[id].bytes ? std::optional(id) : std::nullopt;
  }

 private:
  [[nodiscard]] Address base(BufferId id) const { return graph_.buffers[id].base; }

  const Graph& graph_;
  std::vector<BufferId> by_base_;
};

}  // namespace refrain
