#include "graphs/graph.hpp"
#include "tests/catch.hpp"

using namespace refrain;

namespace {

Buffer buffer_at(Address base, std::uint64_t bytes) {
  Buffer buffer;
  buffer.base = base;
  buffer.bytes = bytes;
  return buffer;
}

Node fill_node(Address dst, std::uint64_t bytes, std::uint32_t value) {
  Node node;
  node.kind = NodeKind::memset;
  node.fill = FillInfo{dst, bytes, value, 1};
  return node;
}

}  // namespace

TEST_CASE("known accesses: a memset over two buffers writes its part of each, and zero gives zeroed") {
  Graph graph;
  graph.buffers = {buffer_at(0x2000, 0x100), buffer_at(0x1000, 0x1000)};
  graph.nodes = {fill_node(0x1F00, 0x180, 0), fill_node(0x2000, 0x10, 7)};
  attach_known_accesses(graph);
  REQUIRE(graph.nodes[0].accesses.size() == 2);
  CHECK(graph.nodes[0].accesses[0].buffer == 1);
  CHECK(graph.nodes[0].accesses[0].range == ByteRange{0xF00, 0x1000});
  CHECK(graph.nodes[0].accesses[1].range == ByteRange{0, 0x80});
  CHECK(graph.nodes[0].gives.size() == 2);
  CHECK(graph.nodes[1].gives.empty());
  CHECK(graph.nodes[1].has_contract);
}

TEST_CASE("known accesses: dead buffers, unknown memory and unseen addresses get none") {
  Graph graph;
  graph.buffers = {buffer_at(0x1000, 0x100)};
  graph.buffers[0].died = 3;
  Node plain;
  plain.kind = NodeKind::memcpy;
  plain.copy = CopyInfo{};
  graph.nodes = {fill_node(0x1000, 0x10, 0), fill_node(0x9000, 0x10, 0), plain};
  attach_known_accesses(graph);
  CHECK(graph.nodes[0].accesses.empty());
  CHECK(graph.nodes[1].accesses.empty());
  CHECK(graph.nodes[1].has_contract);
  CHECK_FALSE(graph.nodes[2].has_contract);
}

TEST_CASE("known accesses: a range that runs over the end of the address space is cut, not wrapped") {
  Graph graph;
  graph.buffers = {buffer_at(0, 0x100), buffer_at(0xFFFFFFFFFFFFFF00, 0xFF)};
  graph.nodes = {fill_node(0xFFFFFFFFFFFFFF00, 0x7FFFFFFFFFFFFFFF, 0)};
  attach_known_accesses(graph);
  REQUIRE(graph.nodes[0].accesses.size() == 1);
  CHECK(graph.nodes[0].accesses[0].buffer == 1);
}
