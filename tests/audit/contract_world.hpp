// Kernels of others by hand: parameters laid out as the ABI lays them out, and
// names as the demangler writes them, so that contract files can be judged where
// no such kernel was ever compiled.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "audit/audit.hpp"
#include "audit/contracts/apply.hpp"
#include "graphs/graph.hpp"

namespace refrain::test {

/// The parameter block of one launch: each value at the next multiple of its size.
class Params {
 public:
  template <class T>
  Params& add(T value) {
    const std::uint64_t offset = (end_ + alignof(T) - 1) / alignof(T) * alignof(T);
    Param param{offset, sizeof value, std::vector<std::uint8_t>(sizeof value)};
    std::memcpy(param.bytes.data(), &value, sizeof value);
    end_ = offset + sizeof value;
    params_.push_back(std::move(param));
    return *this;
  }
  [[nodiscard]] std::vector<Param> take() { return std::move(params_); }

 private:
  std::vector<Param> params_;
  std::uint64_t end_ = 0;
};

inline Node kernel(std::string name, Dim3 grid, Params params) {
  Node node;
  node.name = std::move(name);
  node.grid = grid;
  node.block = {128, 1, 1};
  node.params = params.take();
  return node;
}

inline Buffer buffer(std::string name, Address base, std::uint64_t bytes, Role role = Role::unknown) {
  Buffer out;
  out.name = std::move(name);
  out.base = base;
  out.bytes = bytes;
  out.role = role;
  return out;
}

/// The nodes one after the other.
inline Graph chain_of(std::vector<Buffer> buffers, std::vector<Node> nodes) {
  Graph graph;
  graph.name = "decode";
  graph.buffers = std::move(buffers);
  for (Node& node : nodes) {
    const auto id = static_cast<NodeId>(graph.nodes.size());
    graph.nodes.push_back(std::move(node));
    if (id > 0) graph.edges.push_back({id - 1, id, EdgeKind::full});
  }
  return graph;
}

inline std::string shipped(const char* name) {
  return std::string(REFRAIN_SOURCE_DIR) + "/audit/contracts/" + name;
}

struct Judged {
  Graph graph;
  ContractCoverage coverage;
  Report report;
};

inline Judged judge(Graph graph, std::span<const ContractFile> files) {
  Subject subject{{{"decode", {std::move(graph)}, {}, false}}};
  ContractCoverage coverage = apply_contracts(subject.recordings, files);
  Report report = audit(subject);
  return {subject.recordings[0].graphs[0], std::move(coverage), std::move(report)};
}

inline Judged judge(Graph graph, const ContractFile& file) {
  return judge(std::move(graph), std::span(&file, 1));
}

}  // namespace refrain::test
