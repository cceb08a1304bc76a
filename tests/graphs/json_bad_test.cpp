#include "graphs/readers.hpp"
#include "tests/catch.hpp"
#include "tests/graphs/support.hpp"

using namespace refrain;

namespace {

struct Bad {
  const char* what;
  std::string text;
  std::string message;  // begins with
};

std::string message_of(const std::string& text) {
  return input_error([&] { (void)read_graph_json(text, "step.json"); });
}

// One kernel with this field, and a buffer of 64 bytes.
std::string node_with(const std::string& field) {
  return R"({"schema": "refrain.graph/1", "edges": [], "buffers": [{"bytes": 64}], "nodes": [{"kind": "kernel", )" +
         field + "}]}";
}

std::string access_with(const std::string& range) {
  return node_with(R"("accesses": [{"buffer": 0, "mode": "read", "range": )" + range + "}]");
}

std::string graph_with(const std::string& fields) {
  return R"({"schema": "refrain.graph/1", "nodes": [{"kind": "kernel"}, {"kind": "kernel"}], "edges": [])" + fields +
         "}";
}

std::string buffer_with(const std::string& field) {
  return graph_with(R"(, "buffers": [{)" + field + "}]");
}

std::string edges(const std::string& list) {
  return R"({"schema": "refrain.graph/1", "nodes": [{"kind": "kernel"}, {"kind": "kernel"}], "edges": )" + list + "}";
}

void check(const std::vector<Bad>& table) {
  for (const Bad& bad : table) {
    INFO(bad.what);
    const std::string message = message_of(bad.text);
    CHECK(message.substr(0, bad.message.size()) == bad.message);
    CHECK(is_one_line(message));
    CHECK(message.find("; ") != std::string::npos);  // and says what to do
  }
}

}  // namespace

TEST_CASE("json: a file that is no JSON is an error with the byte") {
  check({
      {"empty", "", "step.json: expected a refrain.graph/1 object, found an empty file"},
      {"blank", " \n\t", "step.json: expected a refrain.graph/1 object, found an empty file"},
      {"binary",
       std::string("\x7f"
                   "ELF\0\0\x01\xff",
                   8),
       "step.json: byte 1: expected JSON, found a syntax error"},
      {"cut short", "{\"schema\": \"refr", "step.json: byte 16: expected more JSON, found the end of the file"},
      {"trailing garbage", graph_with("") + " x", "step.json: byte 95: expected JSON, found a syntax error"},
      {"bad UTF-8", "{\"a\": \"\xff\"}", "step.json: byte 8: expected JSON, found a syntax error"},
      {"a number past every type", "{\"a\": 1e999}", "step.json: expected numbers below 2^63"},
      {"hugely nested arrays", std::string(1'000'000, '['), "step.json: byte 265: expected at most 264 brackets"},
  });
}

TEST_CASE("json: hugely nested text is refused wherever the nesting stands") {
  std::string objects;
  for (int i = 0; i < 100'000; ++i) objects += "{\"a\":";
  CHECK(message_of(objects).find("expected at most 264 brackets") != std::string::npos);
  CHECK(message_of(node_with("\"scope\": " + std::string(100'000, '[') + std::string(100'000, ']')))
            .find("expected at most 264 brackets") != std::string::npos);
}

TEST_CASE("json: brackets inside a string are no nesting") {
  const std::string text = node_with("\"scope\": \"\\\"" + std::string(1000, '[') + "\"");
  CHECK(read_graph_json(text, "a").nodes[0].scope == "\"" + std::string(1000, '['));
}

TEST_CASE("json: a document of another shape is an error with the path") {
  check({
      {"an array", "[]", "step.json: expected a graph as an object, found []"},
      {"a string", "\"refrain.graph/1\"", "step.json: expected a graph as an object, found \"refrain.graph/1\""},
      {"no schema", "{}", "step.json: expected the key \"schema\", found none"},
      {"another schema", R"({"schema": "refrain.graph/2", "nodes": [], "edges": []})",
       "step.json: schema: expected \"refrain.graph/1\", found \"refrain.graph/2\""},
      {"a number for the schema", R"({"schema": 1})", "step.json: schema: expected a string, found 1"},
      {"no nodes", R"({"schema": "refrain.graph/1", "edges": []})", "step.json: expected the key \"nodes\""},
      {"no edges", R"({"schema": "refrain.graph/1", "nodes": []})", "step.json: expected the key \"edges\""},
      {"nodes as an object", R"({"schema": "refrain.graph/1", "nodes": {}, "edges": []})",
       "step.json: nodes: expected an array, found an object"},
      {"entry as null", graph_with(R"(, "entry": null)"), "step.json: entry: expected an array, found null"},
      {"an unknown key", graph_with(R"(, "node": [])"), "step.json: expected a graph with keys among schema, name,"},
      {"a misspelt need", node_with(R"("need": [])"), "step.json: nodes[0]: expected a node with keys among id, kind,"},
      {"a note as a number", graph_with(R"(, "notes": [7])"), "step.json: notes[0]: expected a string, found 7"},
      {"an unseen word", graph_with(R"(, "capture": {"unseen": ["colour"]})"),
       "step.json: capture.unseen[0]: expected one of kernel_params, copy_memory_kinds,"},
  });
}

TEST_CASE("json: a bad node is an error with its path") {
  check({
      {"no kind", R"({"schema": "refrain.graph/1", "edges": [], "nodes": [{}]})",
       "step.json: nodes[0]: expected the key \"kind\", found none"},
      {"an unknown kind", R"({"schema": "refrain.graph/1", "edges": [], "nodes": [{"kind": "Kernel"}]})",
       "step.json: nodes[0].kind: expected one of kernel, memcpy, memset,"},
      {"an id out of order", R"({"schema": "refrain.graph/1", "edges": [], "nodes": [{"kind": "host", "id": 1}]})",
       "step.json: nodes[0].id: expected the id 0, found 1"},
      {"a name as a number", node_with(R"("name": 1)"), "step.json: nodes[0].name: expected a string, found 1"},
      {"two dims", node_with(R"("grid": [1, 2])"), "step.json: nodes[0].grid: expected three dimensions, found [1, 2]"},
      {"a dim of 2^32", node_with(R"("block": [1, 1, 4294967296])"),
       "step.json: nodes[0].block[2]: expected a dimension as an integer in [0, 4294967296), found 4294967296"},
      {"a negative size", node_with(R"("shared_bytes": -1)"),
       "step.json: nodes[0].shared_bytes: expected a size as an integer in [0, 2^63), found -1"},
      {"odd hex", node_with(R"("params": [{"offset": 0, "size": 1, "bytes": "abc"}])"),
       "step.json: nodes[0].params[0].bytes: expected two hexadecimal digits a byte, found \"abc\""},
      {"no hex", node_with(R"("params": [{"offset": 0, "size": 1, "bytes": "zz"}])"),
       "step.json: nodes[0].params[0].bytes: expected two hexadecimal digits a byte"},
      {"fewer bytes than the size", node_with(R"("params": [{"offset": 0, "size": 2, "bytes": "00"}])"),
       "step.json: nodes[0].params[0].bytes: expected 2 bytes, found \"00\""},
      {"a contract that is no boolean", node_with(R"("contract": 1)"),
       "step.json: nodes[0].contract: expected true or false, found 1"},
      {"bodies on a kernel", node_with(R"("bodies": [{"nodes": [], "edges": []}])"),
       "step.json: nodes[0].bodies[0]: expected bodies on a child or conditional node only"},
      {"an address as a number", node_with(R"("copy": {"src": 4096})"),
       "step.json: nodes[0].copy.src: expected a string, found 4096"},
      {"an address of 68 bits", node_with(R"("copy": {"src": "0x10000000000000000"})"),
       "step.json: nodes[0].copy.src: expected an address of at most 64 bits"},
      {"an address in decimal", node_with(R"("fill": {"dst": "4096"})"),
       "step.json: nodes[0].fill.dst: expected an address of at most 64 bits, found \"4096\""},
      {"a fill value of 33 bits", node_with(R"("fill": {"value": 4294967296})"),
       "step.json: nodes[0].fill.value: expected a value as an integer in [0, 4294967296)"},
  });
}

TEST_CASE("json: a bad range is refused as it was written") {
  const std::string head = "step.json: nodes[0].accesses[0].range: expected 0 <= begin <= end < 2^63, found ";
  check({
      {"a negative end", access_with("[4, -1]"), head + "[4, -1]; write the range as two integers"},
      {"2^63", access_with("[0, 9223372036854775808]"), head + "[0, 9223372036854775808]"},
      {"2^64", access_with("[0, 18446744073709551616]"), head + "[0, 1.8446744073709552e+19]"},
      {"1e300", access_with("[0, 1e300]"), head + "[0, 1e+300]"},
      {"a float", access_with("[0, 4.0]"), head + "[0, 4.0]"},
      {"backwards", access_with("[8, 4]"), head + "[8, 4]"},
      {"one number", access_with("[8]"), head + "[8]"},
      {"three numbers", access_with("[1, 2, 3]"), head + "[1, 2, 3]"},
      {"text", access_with(R"(["0", "4"])"), head + "[\"0\", \"4\"]"},
      {"null", access_with("null"), head + "null"},
      {"reserved bytes past the buffer", graph_with(R"(, "buffers": [{"bytes": 64, "reserved": [0, 65]}])"),
       "step.json: buffers[0].reserved: expected a range inside the 64 bytes of buffer 0, found [0, 65]"},
  });
}

TEST_CASE("json: accesses, claims and entry facts name buffers that exist") {
  check({
      {"an access", node_with(R"("accesses": [{"buffer": 1, "range": [0, 4], "mode": "read"}])"),
       "step.json: nodes[0].accesses[0].buffer: expected a buffer id as an integer in [0, 1), found 1"},
      {"an access without a mode", node_with(R"("accesses": [{"buffer": 0, "range": [0, 4]}])"),
       "step.json: nodes[0].accesses[0]: expected the key \"mode\""},
      {"an unknown mode", node_with(R"("accesses": [{"buffer": 0, "range": [0, 4], "mode": "rw"}])"),
       "step.json: nodes[0].accesses[0].mode: expected one of read, write, read_write, accumulate, found \"rw\""},
      {"a need", node_with(R"("needs": [{"fact": "zeroed", "buffer": 7, "range": [0, 4]}])"),
       "step.json: nodes[0].needs[0].buffer: expected a buffer id as an integer in [0, 1), found 7"},
      {"a give past its buffer", node_with(R"("gives": [{"fact": "zeroed", "buffer": 0, "range": [60, 68]}])"),
       "step.json: nodes[0].gives[0].range: expected a range inside the 64 bytes of buffer 0, found [60, 68]"},
      {"an entry fact", graph_with(R"(, "entry": [{"fact": "written", "buffer": 0, "range": [0, 1]}])"),
       "step.json: entry[0].buffer: expected a buffer id as an integer in [0, 0), found 0"},
      {"an entry fact without origin",
       graph_with(R"(, "buffers": [{}], "entry": [{"fact": "written", "buffer": 0, "range": [0, 1]}])"),
       "step.json: entry[0]: expected the key \"origin\""},
      {"a buffer past the address space", buffer_with(R"("base": "0xfffffffffffffff0", "bytes": 17)"),
       "step.json: buffers[0].bytes: expected a buffer that ends below 2^64, found 17"},
      {"an unknown role", buffer_with(R"("role": "weight")"),
       "step.json: buffers[0].role: expected one of unknown, kv_pool"},
      {"a size in quotes", buffer_with(R"("bytes": "64")"),
       "step.json: buffers[0].bytes: expected a size as an integer in [0, 2^63), found \"64\""},
      {"a birth below zero", buffer_with(R"("born": -3)"),
       "step.json: buffers[0].born: expected a sequence number as an integer in [0, 2^63), found -3"},
  });
}

TEST_CASE("json: bad edges and cycles name the edge or a node") {
  check({
      {"an edge to no node", edges(R"([{"from": 0, "to": 2}])"),
       "step.json: edges[0].to: expected a node id as an integer in [0, 2), found 2"},
      {"an edge of one end", edges(R"([{"from": 0}])"), "step.json: edges[0]: expected the key \"to\""},
      {"an unknown kind", edges(R"([{"from": 0, "to": 1, "kind": "weak"}])"),
       "step.json: edges[0].kind: expected one of full, programmatic, found \"weak\""},
      {"a cycle", edges(R"([{"from": 0, "to": 1}, {"from": 1, "to": 0}])"),
       "step.json: edges: expected no cycle, found one of 2 nodes through node 0 (kernel)"},
  });
}

TEST_CASE("json: no message repeats more than 40 characters of the file") {
  const std::string secret(10'000, 'q');
  for (const std::string& text : {node_with("\"kind\": \"" + secret + "\""), node_with("\"" + secret + "\": 1"),
                                  graph_with(", \"buffers\": \"" + secret + "\"")})
    CHECK(message_of(text).find(std::string(41, 'q')) == std::string::npos);
}

TEST_CASE("json: a file cut at any byte is an error, never a graph and never a crash") {
  const std::string text = write_graph_json(full_graph());
  const std::size_t whole = text.size() - 1;  // without the last newline
  for (std::size_t bytes = 0; bytes < whole; ++bytes) {
    const std::string message = message_of(text.substr(0, bytes));
    if (!is_one_line(message)) FAIL("cut at byte " << bytes << ": " << message);
  }
}

TEST_CASE("json: a file with any byte overwritten is read or refused, never a crash") {
  const std::string text = write_graph_json(full_graph());
  for (std::size_t i = 0; i < text.size(); ++i)
    for (const char c : {'\0', '"', '9', '-', '}', '\xff'}) {
      std::string broken = text;
      broken[i] = c;
      const std::string message = message_of(broken);
      if (!message.empty() && !is_one_line(message)) FAIL("byte " << i << ": " << message);
    }
}
