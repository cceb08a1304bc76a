// What the tests of graphs/ share: files, error texts, and one graph that has
// every field set. It asserts nothing itself.
#pragma once

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

#include "graphs/error.hpp"
#include "graphs/graph.hpp"

namespace refrain {

inline std::string slurp(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

inline std::string sample(const std::string& name) {
  return slurp(std::string(REFRAIN_SOURCE_DIR) + "/traces/samples/" + name);
}

/// Other people's files, which lie beside the project and are never part of it; empty when they are not there.
inline std::string public_data(const std::string& name) {
  const char* set = std::getenv("REFRAIN_PUBLIC_DATA");
  return slurp((set != nullptr ? std::string(set) : std::string(REFRAIN_SOURCE_DIR) + "/../shared/data") + "/" + name);
}

/// The message of the Error{input} that `run` throws; empty when it throws none, and the wrong kind is spelled out.
template <class Run>
std::string input_error(Run run) {
  try {
    run();
  } catch (const Error& error) {
    return error.kind() == ErrorKind::input ? error.what() : std::string("not an input error: ") + error.what();
  }
  return {};
}

/// One line of printable ASCII that a terminal can show whole.
inline bool is_one_line(std::string_view text) {
  if (text.empty() || text.size() > 500) return false;
  for (const char c : text)
    if (c < 0x20 || c > 0x7e) return false;
  return true;
}

inline Node kernel(const std::string& name) {
  Node node;
  node.name = name;
  return node;
}

/// kernel -> memset -> memcpy -> alloc -> child{kernel}, with everything set that a Graph can hold.
inline Graph full_graph() {
  Graph graph;
  graph.name = "decode/8";
  graph.capture = {.phase = "decode",
                   .bucket = "rows=8",
                   .mode = "thread_local",
                   .device = "H200",
                   .driver = "580.159",
                   .toolkit = "13.0",
                   .unseen = {Unseen::allocations, Unseen::bodies}};
  graph.buffers = {{.name = "partials \"q\"\n",
                    .base = 0x7f0000000000,
                    .bytes = 37440,
                    .space = MemorySpace::managed,
                    .dtype = Dtype::fp32,
                    .role = Role::workspace,
                    .allocation = 77,
                    .born = 0,
                    .died = 9},
                   Buffer{}};
  graph.buffers[1].base = 0x10;
  graph.buffers[1].bytes = (std::uint64_t{1} << 63) - 1;
  graph.buffers[1].role = Role::kv_pool;
  Node work = kernel("void xqa<128>(float*)");
  work.mangled = "_Z3xqaILi128EEvPf";
  work.grid = {2, 3, 4};
  work.block = {64, 1, 1};
  work.shared_bytes = 164292;
  work.params = {{.offset = 8, .size = 2, .bytes = {0x00, 0xff}}};
  work.op = "xqa_decode";
  work.has_contract = true;
  work.accesses = {{0, {0, 37440}, Mode::accumulate, Reach::may, Role::workspace, Dtype::fp32, Certainty::proven}};
  work.needs = {{Fact::zeroed, 0, {0, 4096}}};
  work.gives = {{Fact::finite, 1, {16, 32}}};
  work.scope = "step/layer0";
  work.call_site = "step.cpp:42";
  Node fill;
  fill.kind = NodeKind::memset;
  fill.fill = FillInfo{.dst = 0x7f0000000000, .bytes = 4096, .value = 0xffffffff, .element_bytes = 4};
  Node copy;
  copy.kind = NodeKind::memcpy;
  copy.copy = CopyInfo{0x1000, 0xffffffffffffffff, 2048, MemorySpace::pageable, MemorySpace::pinned};
  Node allocation;
  allocation.kind = NodeKind::mem_alloc;
  allocation.allocation = AllocationInfo{.address = 0x302000000, .bytes = 8192};
  Node child;
  child.kind = NodeKind::child;
  child.name = "child graph_5";
  Graph body;
  body.name = "graph_5";
  body.nodes = {kernel("ksmall(float*)")};
  child.bodies = {body};
  graph.nodes = {work, fill, copy, allocation, child};
  graph.edges = {{0, 1, EdgeKind::programmatic}, {1, 2}, {2, 3}, {3, 4}};
  graph.entry = {{Fact::pad_fixed, 1, {0, 64}, Origin::previous_replay, "pad_fix"}};
  graph.notes = {"1 node of the unknown kind `FOO`, first node 2."};
  return graph;
}

}  // namespace refrain
