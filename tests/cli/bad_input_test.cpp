// What cannot be run or read is one line on standard error, exit code 2, and
// nothing on standard output.
#include <algorithm>
#include <string>

#include "tests/catch.hpp"
#include "tests/cli/program.hpp"

using namespace refrain::test;

namespace {

void check_refused(const std::string& arguments, std::initializer_list<const char*> words) {
  const Outcome outcome = refrain_program(arguments);
  INFO(arguments << "\n" << outcome.err);
  CHECK(outcome.exit_code == 2);
  CHECK(outcome.out.empty());
  CHECK(std::count(outcome.err.begin(), outcome.err.end(), '\n') == 1);
  CHECK(outcome.err.size() < 400);
  CHECK(outcome.err.find("refrain: ") == 0);
  for (const char* word : words) CHECK(outcome.err.find(word) != std::string::npos);
}

const char* kEmptyGraph = R"({"schema":"refrain.graph/1","nodes":[],"edges":[],"buffers":[],"entry":[]})";

std::string graph(const std::string& nodes, const std::string& edges, const std::string& buffers = "[]") {
  return R"({"schema":"refrain.graph/1","nodes":)" + nodes + R"(,"edges":)" + edges + R"(,"buffers":)" + buffers +
         R"(,"entry":[]})";
}

}  // namespace

TEST_CASE("bad input: a command line that does not fit names the option") {
  check_refused("run", {"--step"});
  check_refused("run --step nonsense", {"--step", "nonsense"});
  check_refused("run --step grouped_prefill --rows x", {"--rows"});
  check_refused("run --step grouped_prefill --rows 0", {"--rows", "0"});
  check_refused("run --step grouped_prefill --page-size 6", {"--page-size", "multiple of 4"});
  check_refused("run --step grouped_prefill --fault nonsense", {"nonsense", "--list-faults"});
  check_refused("run --step xqa_decode --fault pad-fix-off", {"pad-fix-off", "xqa_decode"});
  check_refused("run --step xqa_decode --kv fp16 --fault workspace-fp16", {"workspace-fp16", "e4m3"});
  check_refused("run --step xqa_decode --format yaml", {"--format"});
  check_refused("audit", {"files"});
  check_refused("audit --require RF999 " + sample("llama_decode.dot"), {"RF999"});
  check_refused("nonsense", {"--help"});
  check_refused("run --step grouped_prefill --save-graph /nonexistent/x.json --context 16", {"/nonexistent/x.json"});
}

TEST_CASE("bad input: files that are missing, empty, binary or of another format name the file") {
  check_refused("audit /nonexistent/graph.json", {"/nonexistent/graph.json", "No such file"});
  check_refused("audit /tmp", {"/tmp", "directory"});
  check_refused("audit " + temporary_file("empty.json", ""), {"empty.json", "empty"});
  check_refused("audit " + temporary_file("blank.json", " \n\t "), {"blank.json", "empty"});
  check_refused("audit " + temporary_file("binary.json", std::string("\x7F"
                                                                     "ELF\0\1\2\3\xFF\xFE",
                                                                     10)),
                {"binary.json"});
  check_refused("audit " + temporary_file("text.json", "hello\n"), {"text.json", "refrain.graph/1"});
  check_refused("audit " + temporary_file("other.json", R"({"schema":"other/1"})"), {"other.json", "schema"});
}

TEST_CASE("bad input: a truncated or hugely nested graph names its place") {
  const std::string whole = kEmptyGraph;
  check_refused("audit " + temporary_file("cut.json", whole.substr(0, whole.size() / 2)), {"cut.json", "byte"});
  check_refused("audit " + temporary_file("deep.json", std::string(1'000'000, '[')), {"deep.json"});
  check_refused(
      "audit " + temporary_file("deep2.json", R"({"schema":"refrain.graph/1","nodes":)" + std::string(100'000, '[')),
      {"deep2.json", "64"});
  check_refused(
      "audit " + temporary_file("cut.dot", "digraph dot {\nsubgraph cluster_1 {\n\"graph_1_node_0\"[label=\"0\nKER"),
      {"cut.dot", "line"});
  check_refused("audit " + temporary_file("empty.dot", "digraph dot {\n"), {"empty.dot", "line"});
}

TEST_CASE("bad input: cycles, edges to no node and sizes that overflow name the field") {
  const std::string two = R"([{"id":0,"kind":"kernel"},{"id":1,"kind":"kernel"}])";
  check_refused(
      "audit " + temporary_file("cycle.json",
                                graph(two, R"([{"from":0,"to":1,"kind":"full"},{"from":1,"to":0,"kind":"full"}])")),
      {"cycle.json", "cycle"});
  check_refused("audit " + temporary_file("edge.json", graph(two, R"([{"from":0,"to":7,"kind":"full"}])")),
                {"edge.json", "edges[0]", "7"});
  for (const char* size : {"9223372036854775808", "18446744073709551616", "-1", "1e30", "1.5"})
    check_refused("audit " + temporary_file("size.json",
                                            graph("[]", "[]",
                                                  std::string(R"([{"id":0,"name":"x","base":"0x10","bytes":)") + size +
                                                      R"(,"space":"device","role":"unknown","dtype":"u8"}])")),
                  {"size.json", "bytes"});
}

TEST_CASE("bad input: traces that are cut, damaged, empty, of another schema or bombs are one line") {
  const std::string whole = read_text(sample("capture_clean.json.gz"));
  check_refused("audit " + temporary_file("cut.json.gz", whole.substr(0, whole.size() / 2)),
                {"cut.json.gz", "unpacked text", "cut"});
  std::string damaged = whole;
  damaged[damaged.size() - 6] = static_cast<char>(damaged[damaged.size() - 6] ^ 1);  // its checksum
  check_refused("audit " + temporary_file("damaged.json.gz", damaged), {"damaged.json.gz", "damaged gzip data"});
  check_refused("audit " + temporary_file("empty.json.gz", ""), {"empty.json.gz", "empty"});
  check_refused("audit " + temporary_file("empty.sqlite", ""), {"empty.sqlite", "empty"});
  check_refused("audit " + temporary_file("cut.json", R"({"traceEvents": [{"ph": "X", "name": )"),
                {"cut.json", "byte 37"});
  check_refused("audit " + temporary_file("deep.json", R"({"traceEvents": )" + std::string(100'000, '[')),
                {"deep.json", "64 deep"});
  check_refused(
      "audit " + temporary_file("endless.json", R"({"traceEvents": [{"name": ")" + std::string(20 << 20, 'x')),
      {"endless.json", "over 16 MiB"});
  check_refused("audit " + temporary_file("none.json", R"({"schemaVersion": 1, "deviceProperties": []})"),
                {"none.json", "traceEvents"});
  check_refused("audit " + temporary_file("magic.sqlite", std::string("SQLite format 3\0", 16)),
                {"magic.sqlite", "damaged or cut"});
}
