#include <nlohmann/json.hpp>

#include "graphs/readers.hpp"
#include "tests/catch.hpp"
#include "tests/graphs/support.hpp"

using namespace refrain;

TEST_CASE("json: a graph with every field set comes back with every field") {
  const Graph g = read_graph_json(write_graph_json(full_graph()), "step.json");
  const Graph want = full_graph();
  CHECK(g.name == "decode/8");
  CHECK(g.notes == want.notes);
  CHECK(g.capture.phase == "decode");
  CHECK(g.capture.bucket == "rows=8");
  CHECK(g.capture.mode == "thread_local");
  CHECK(g.capture.device == "H200");
  CHECK(g.capture.driver == "580.159");
  CHECK(g.capture.toolkit == "13.0");
  CHECK(g.capture.unseen == want.capture.unseen);

  REQUIRE(g.buffers.size() == 2);
  const Buffer& buffer = g.buffers[0];
  CHECK(buffer.name == "partials \"q\"\n");
  CHECK(buffer.base == 0x7f0000000000);
  CHECK(buffer.bytes == 37440);
  CHECK(buffer.space == MemorySpace::managed);
  CHECK(buffer.dtype == Dtype::fp32);
  CHECK(buffer.role == Role::workspace);
  CHECK(buffer.allocation == 77);
  CHECK(buffer.born == 0);
  CHECK(buffer.died == 9);
  CHECK(g.buffers[1].bytes == (std::uint64_t{1} << 63) - 1);
  CHECK_FALSE(g.buffers[1].born.has_value());

  REQUIRE(g.entry.size() == 1);
  CHECK(g.entry[0].fact == Fact::pad_fixed);
  CHECK(g.entry[0].buffer == 1);
  CHECK(g.entry[0].range == ByteRange{0, 64});
  CHECK(g.entry[0].origin == Origin::previous_replay);
  CHECK(g.entry[0].by == "pad_fix");

  REQUIRE(g.edges.size() == 4);
  CHECK(g.edges[0].kind == EdgeKind::programmatic);
  CHECK(g.edges[3].from == 3);
  CHECK(g.edges[3].to == 4);
}

TEST_CASE("json: a kernel node keeps its launch, its parameters and its contract") {
  const Graph g = read_graph_json(write_graph_json(full_graph()), "step.json");
  REQUIRE(g.nodes.size() == 5);
  const Node& node = g.nodes[0];
  CHECK(node.kind == NodeKind::kernel);
  CHECK(node.name == "void xqa<128>(float*)");
  CHECK(node.mangled == "_Z3xqaILi128EEvPf");
  CHECK(node.grid == Dim3{2, 3, 4});
  CHECK(node.block == Dim3{64, 1, 1});
  CHECK(node.shared_bytes == 164292);
  REQUIRE(node.params.size() == 1);
  CHECK(node.params[0].offset == 8);
  CHECK(node.params[0].size == 2);
  CHECK(node.params[0].bytes == std::vector<std::uint8_t>{0x00, 0xff});
  CHECK(node.op == "xqa_decode");
  CHECK(node.has_contract);
  REQUIRE(node.accesses.size() == 1);
  CHECK(node.accesses[0].buffer == 0);
  CHECK(node.accesses[0].range == ByteRange{0, 37440});
  CHECK(node.accesses[0].mode == Mode::accumulate);
  CHECK(node.accesses[0].reach == Reach::may);
  CHECK(node.accesses[0].role == Role::workspace);
  CHECK(node.accesses[0].dtype == Dtype::fp32);
  CHECK(node.accesses[0].certainty == Certainty::proven);
  REQUIRE(node.needs.size() == 1);
  CHECK(node.needs[0].fact == Fact::zeroed);
  CHECK(node.needs[0].range == ByteRange{0, 4096});
  REQUIRE(node.gives.size() == 1);
  CHECK(node.gives[0].fact == Fact::finite);
  CHECK(node.gives[0].buffer == 1);
  CHECK(node.scope == "step/layer0");
  CHECK(node.call_site == "step.cpp:42");
}

TEST_CASE("json: an access keeps which tokens it means and that it comes before the wait") {
  Graph graph = full_graph();
  CHECK(read_graph_json(write_graph_json(graph), "step.json").nodes[0].accesses[0].tokens == CacheTokens::any);
  CHECK_FALSE(read_graph_json(write_graph_json(graph), "step.json").nodes[0].accesses[0].before_wait);
  for (const CacheTokens tokens : {CacheTokens::appended, CacheTokens::settled}) {
    graph.nodes[0].accesses[0].tokens = tokens;
    graph.nodes[0].accesses[0].before_wait = true;
    const Graph read = read_graph_json(write_graph_json(graph), "step.json");
    CHECK(read.nodes[0].accesses[0].tokens == tokens);
    CHECK(read.nodes[0].accesses[0].before_wait);
  }
}

TEST_CASE("json: a node keeps whether it triggers before it waits and that nobody knows") {
  Graph graph = full_graph();
  for (const std::optional<bool> first : {std::optional<bool>(), std::optional(false), std::optional(true)}) {
    graph.nodes[0].triggers_first = first;
    CHECK(read_graph_json(write_graph_json(graph), "step.json").nodes[0].triggers_first == first);
  }
}

TEST_CASE("json: copies, fills, allocations and bodies come back") {
  const Graph g = read_graph_json(write_graph_json(full_graph()), "step.json");
  REQUIRE(g.nodes.size() == 5);
  REQUIRE(g.nodes[1].fill);
  CHECK(g.nodes[1].fill->dst == 0x7f0000000000);
  CHECK(g.nodes[1].fill->bytes == 4096);
  CHECK(g.nodes[1].fill->value == 0xffffffff);
  CHECK(g.nodes[1].fill->element_bytes == 4);
  REQUIRE(g.nodes[2].copy);
  CHECK(g.nodes[2].copy->src == 0x1000);
  CHECK(g.nodes[2].copy->dst == UINT64_MAX);
  CHECK(g.nodes[2].copy->bytes == 2048);
  CHECK(g.nodes[2].copy->src_space == MemorySpace::pageable);
  CHECK(g.nodes[2].copy->dst_space == MemorySpace::pinned);
  REQUIRE(g.nodes[3].allocation);
  CHECK(g.nodes[3].allocation->address == 0x302000000);
  CHECK(g.nodes[3].allocation->bytes == 8192);
  REQUIRE(g.nodes[4].bodies.size() == 1);
  CHECK(g.nodes[4].bodies[0].name == "graph_5");
  REQUIRE(g.nodes[4].bodies[0].nodes.size() == 1);
  CHECK(g.nodes[4].bodies[0].nodes[0].name == "ksmall(float*)");
}

TEST_CASE("json: the text is a fixed point, opens with its schema and ends in a newline") {
  Graph graph = full_graph();
  attach_known_accesses(graph);  // as the reader does for copies and fills without a contract
  const std::string text = write_graph_json(graph);
  CHECK(text.starts_with("{\n  \"schema\": \"refrain.graph/1\",\n"));
  CHECK(text.ends_with("}\n"));
  CHECK(write_graph_json(read_graph_json(text, "a")) == text);
}

TEST_CASE("json: what is unset is not written") {
  Graph graph;
  graph.nodes.resize(1);
  graph.nodes[0].kind = NodeKind::empty;
  const auto json = nlohmann::json::parse(write_graph_json(graph));
  CHECK(json["nodes"][0].size() == 2);  // id and kind
  CHECK(json["capture"].empty());
}

TEST_CASE("json: a graph needs no more than nodes and edges, and defaults stand for the rest") {
  const Graph g = read_graph_json(R"({"schema": "refrain.graph/1", "nodes": [{"kind": "kernel"}], "edges": []})", "a");
  REQUIRE(g.nodes.size() == 1);
  CHECK(g.nodes[0].grid == Dim3{1, 1, 1});
  CHECK_FALSE(g.nodes[0].has_contract);
  CHECK(g.name.empty());
}

TEST_CASE("json: bytes that no op may write come back, and none are not written") {
  Graph graph;
  graph.buffers.resize(2);
  graph.buffers[0].bytes = 64;
  graph.buffers[0].reserved = {16, 32};
  const std::string text = write_graph_json(graph);
  const auto json = nlohmann::json::parse(text);
  CHECK(json["buffers"][0]["reserved"] == nlohmann::json::array({16, 32}));
  CHECK_FALSE(json["buffers"][1].contains("reserved"));
  const Graph back = read_graph_json(text, "step.json");
  CHECK(back.buffers[0].reserved == ByteRange{16, 32});
  CHECK(back.buffers[1].reserved.empty());
}

TEST_CASE("json: a shared buffer comes back as one, and one that is not says nothing") {
  Graph graph;
  graph.buffers.resize(2);
  graph.buffers[0].shared = true;
  const std::string text = write_graph_json(graph);
  const auto json = nlohmann::json::parse(text);
  CHECK(json["buffers"][0]["shared"] == true);
  CHECK_FALSE(json["buffers"][1].contains("shared"));
  const Graph back = read_graph_json(text, "step.json");
  CHECK(back.buffers[0].shared);
  CHECK_FALSE(back.buffers[1].shared);
}

TEST_CASE("json: an access may reach past the end of its buffer, which is the graph's fault and not the file's") {
  const std::string text = R"({"schema": "refrain.graph/1", "edges": [], "buffers": [{"bytes": 64}],
    "nodes": [{"kind": "kernel", "accesses": [{"buffer": 0, "range": [60, 68], "mode": "write"}]}]})";
  CHECK(read_graph_json(text, "a").nodes[0].accesses[0].range == ByteRange{60, 68});
}

TEST_CASE("json: a range may fill its buffer, and be empty at its end") {
  const std::string text = R"({"schema": "refrain.graph/1", "edges": [], "buffers": [{"bytes": 64}, {}],
    "nodes": [{"kind": "kernel", "accesses": [{"buffer": 0, "range": [0, 64], "mode": "read"},
                                              {"buffer": 0, "range": [64, 64], "mode": "read"},
                                              {"buffer": 1, "range": [0, 9223372036854775807], "mode": "write"}]}]})";
  const Graph g = read_graph_json(text, "a");
  CHECK(g.nodes[0].accesses[2].range.end == (std::uint64_t{1} << 63) - 1);  // a buffer of no known size
}

TEST_CASE("json: a name that is not UTF-8 is written all the same") {
  Graph graph;
  graph.nodes = {
      kernel("a\xff"
             "b")};
  const Graph g = read_graph_json(write_graph_json(graph), "a");
  CHECK(g.nodes[0].name ==
        "a\xef\xbf\xbd"
        "b");  // U+FFFD
}

TEST_CASE("json: 64 levels of bodies are read, 65 are not") {
  const auto nested = [](std::size_t levels) {
    Graph graph;
    for (std::size_t i = 0; i < levels; ++i) {
      Graph outer;
      outer.nodes.resize(1);
      outer.nodes[0].kind = NodeKind::child;
      outer.nodes[0].bodies.push_back(std::move(graph));
      graph = std::move(outer);
    }
    return write_graph_json(graph);
  };
  CHECK(write_graph_json(read_graph_json(nested(64), "a")) == nested(64));
  const std::string message = input_error([&] { (void)read_graph_json(nested(65), "a"); });
  CHECK(message.find("expected at most 64 levels of bodies") != std::string::npos);
}

TEST_CASE("json: 300,000 nodes are written and read") {
  Graph graph;
  graph.nodes.assign(300'000, kernel("k"));
  for (NodeId n = 1; n < 300'000; ++n) graph.edges.push_back({n - 1, n});
  const Graph g = read_graph_json(write_graph_json(graph), "a");
  CHECK(g.nodes.size() == 300'000);
  CHECK(fingerprint(g) == fingerprint(graph));
}
