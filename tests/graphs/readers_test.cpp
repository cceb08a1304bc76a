#include "graphs/readers.hpp"

#include "tests/catch.hpp"
#include "tests/graphs/support.hpp"

using namespace refrain;

namespace {

std::string reader_of(std::string_view head) {
  for (const GraphReader& reader : graph_readers())
    if (reader.sniff(head)) return reader.name;
  return "none";
}

}  // namespace

TEST_CASE("readers: a brace is JSON, the word digraph is a dump, and nothing else is either") {
  CHECK(reader_of("{\"schema\"") == "refrain.graph/1 JSON");
  CHECK(reader_of(" \n\t{") == "refrain.graph/1 JSON");
  CHECK(reader_of("\xef\xbb\xbf{") == "refrain.graph/1 JSON");
  CHECK(reader_of("digraph dot {") == "DOT dump");
  CHECK(reader_of("\r\n strict  digraph{") == "DOT dump");
  for (const char* head : {"", " ", "digraphs {", "graph g {", "[1]", "SQLite format 3", "\x1f\x8b\x08"})
    CHECK(reader_of(head) == "none");
}

TEST_CASE("readers: each one reads what it sniffs") {
  for (const GraphReader& reader : graph_readers()) {
    const bool json = std::string(reader.name).find("JSON") != std::string::npos;
    const std::string text = json ? write_graph_json(full_graph()) : sample("torch_matmul.dot");
    REQUIRE(reader.sniff(text));
    CHECK(reader.read(text, "file").size() == 1);
  }
}

TEST_CASE("readers: a dump read, written as JSON and read again is the same graph") {
  for (const char* name : {"llama_decode.dot", "all_kinds_plain.dot", "all_kinds_verbose.dot"}) {
    const std::vector<Graph> graphs = read_dot(sample(name), name);
    REQUIRE(graphs.size() == 1);
    const std::string text = write_graph_json(graphs[0]);
    const Graph again = read_graph_json(text, "copy.json");
    CHECK(fingerprint(again) == fingerprint(graphs[0]));
    CHECK(write_graph_json(again) == text);
  }
}
