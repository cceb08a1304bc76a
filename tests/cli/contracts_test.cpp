// Contract files through the program: what they explain, and what it says of a
// file that is wrong.
#include <nlohmann/json.hpp>

#include "tests/catch.hpp"
#include "tests/cli/program.hpp"

using namespace refrain::test;
using Json = nlohmann::ordered_json;

namespace {

const std::string kGraph = R"js({"schema": "refrain.graph/1", "name": "decode", "nodes": [
  {"id": 0, "kind": "kernel", "name": "copy(int*, int)", "params": [
    {"offset": 0, "size": 8, "bytes": "0010000000000000"}, {"offset": 8, "size": 4, "bytes": "04000000"}]},
  {"id": 1, "kind": "kernel", "name": "other(int*)"}], "edges": [{"from": 0, "to": 1}],
  "buffers": [{"id": 0, "name": "out", "base": "0x1000", "bytes": 64}]})js";

const std::string kContracts = R"js({"schema": "refrain.contracts/1", "contracts": [
  {"id": "copy", "kernel": {"glob": "copy(int*, int)"},
   "basis": {"rests_on": "documentation", "project": "mine", "version": "1"},
   "values": {"n": {"param": 1, "type": "i32"}},
   "accesses": [{"name": "out", "param": 0, "mode": "write", "role": "workspace", "bytes": "n * 4"}]},
  {"id": "gone", "kernel": {"glob": "gone*"}, "basis": {"rests_on": "documentation", "project": "mine", "version": "1"},
   "accesses": []}]})js";

}  // namespace

TEST_CASE("contracts: explain says which nodes have one from where and which patterns fit nothing") {
  const std::string graph = temporary_file("graph.json", kGraph), file = temporary_file("mine.json", kContracts);
  const Outcome text = refrain_program("audit --explain --contracts " + file + " " + graph);
  CHECK(text.exit_code == 0);
  CHECK(text.out.find("node 0 (copy): " + file + ": copy\n") != std::string::npos);
  CHECK(text.out.find("node 1 (other): none, no pattern fits its name\n") != std::string::npos);
  CHECK(text.out.find("gone fits no kernel") != std::string::npos);
  CHECK(text.out.find("1 of 2 nodes without a contract") != std::string::npos);
  const Json json = Json::parse(
      refrain_program("audit --format json --contracts " + file + " --contracts " + file + " " + graph).out);
  CHECK(json.at("unknown_nodes") == 1);
  REQUIRE(json.at("coverage").at("contracts").size() == 4);
  CHECK(json.at("coverage").at("contracts")[0].at("given") == 1);
  CHECK(json.at("coverage").at("contracts")[2].at("given") == 0);
  CHECK(json.at("coverage").at("nodes")[0].at("state") == "from_file");
}

TEST_CASE("contracts: a node whose parameters do not hold what its contract asks for is named without explain") {
  std::string graph = kGraph;
  graph.replace(graph.find("0010000000000000"), 16, "0090000000000000");
  const std::string file = temporary_file("mine.json", kContracts);
  const Outcome outcome = refrain_program("audit --contracts " + file + " " + temporary_file("graph.json", graph));
  CHECK(
      outcome.out.find("copy fits, but out: no buffer of the graph holds its address 0x9000; the node stays unknown") !=
      std::string::npos);
  CHECK(outcome.out.find("2 of 2 nodes without a contract") != std::string::npos);
}

TEST_CASE("contracts: a wrong file or none is exit 2 and one line") {
  const std::string graph = temporary_file("graph.json", kGraph);
  std::string contracts = kContracts;
  contracts.replace(contracts.find("n * 4"), 5, "m * 4");
  const Outcome wrong = refrain_program("audit --contracts " + temporary_file("wrong.json", contracts) + " " + graph);
  CHECK(wrong.exit_code == 2);
  CHECK(wrong.err.find("contracts[0].accesses[0].bytes: expected an expression (expected one of grid.x") !=
        std::string::npos);
  const Outcome missing = refrain_program("audit --contracts no-such.json " + graph);
  CHECK(missing.exit_code == 2);
  CHECK(missing.err.find("no-such.json: reading: ") != std::string::npos);
}
