// refrain mutate through the program: what it counts over a clean step, and what it
// says of a graph that it cannot break because that is broken already.
#include <nlohmann/json.hpp>

#include "tests/catch.hpp"
#include "tests/cli/program.hpp"

using namespace refrain::test;
using Json = nlohmann::ordered_json;

namespace {

/// The graph of a step, as `run` saves it.
std::string saved_step(const std::string& name, const std::string& more = {}, int exit_code = 0) {
  std::string path = temporary_file(name, "");
  REQUIRE(refrain_program("run --step grouped_prefill --save-graph " + path + " " + more).exit_code == exit_code);
  return path;
}

}  // namespace

TEST_CASE("mutate: over a clean step no mutant escapes and the counts add up") {
  const std::string graph = saved_step("clean.json");
  const Outcome outcome = refrain_program("mutate --seed 7 --format json " + graph);
  CHECK(outcome.exit_code == 0);
  const Json json = Json::parse(outcome.out);
  CHECK(json.at("schema") == "refrain.mutate/1");
  CHECK(json.at("input") == graph);
  CHECK(json.at("seed") == 7);
  const auto of = [](const Json& counts, const char* key) { return counts.at(key).get<int>(); };
  for (const char* key : {"survived", "wrong_rule", "several_findings", "false_alarm"}) CHECK(of(json, key) == 0);
  CHECK(of(json, "killed") + of(json, "equivalent") == of(json, "mutants"));
  int killed = 0;
  for (const Json& one : json.at("operators")) killed += of(one, "killed");
  CHECK(killed == of(json, "killed"));
  // Five nodes in a chain: without any one of its edges somebody reads what is no longer written ahead of it.
  for (const Json& one : json.at("operators"))
    if (one.at("operator") == "drop-edge") CHECK((of(one, "killed") == 4 && of(one, "equivalent") == 0));
}

TEST_CASE("mutate: the same seed breaks the same graph in the same ways") {
  const std::string graph = saved_step("clean.json");
  const std::string first = refrain_program("mutate --seed 3 " + graph).out;
  CHECK(first == refrain_program("mutate --seed 3 " + graph).out);
  CHECK(first.find(" mutants: ") != std::string::npos);
  CHECK(first.find("of the other ") != std::string::npos);
}

TEST_CASE("mutate: a graph that is broken already is exit 2 and one line with its first finding") {
  const std::string graph = saved_step("broken.json", "--poison null-block --fault kernel-zero-off,pad-fix-off", 1);
  const Outcome outcome = refrain_program("mutate " + graph);
  CHECK(outcome.exit_code == 2);
  CHECK(outcome.out.empty());
  CHECK(outcome.err.find(graph) != std::string::npos);
  CHECK(outcome.err.find("expected a clean graph, found RF304") != std::string::npos);
  CHECK(outcome.err.find('\n') == outcome.err.size() - 1);
}

TEST_CASE("mutate: a recording without graphs is exit 2 and says what to record") {
  const std::string recording = temporary_file("empty.jsonl", R"js({"schema": "refrain.recording/1"})js"
                                                              "\n");
  const Outcome outcome = refrain_program("mutate " + recording);
  CHECK(outcome.exit_code == 2);
  CHECK(outcome.err.find("expected a graph to break, found none; record with its graphs") != std::string::npos);
}
