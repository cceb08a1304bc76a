// The program as others call it: JSON fields, exit codes, one line for a mistake.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "tests/catch.hpp"
#include "tests/cli/program.hpp"

using namespace refrain::test;
using Json = nlohmann::ordered_json;

namespace {

std::set<std::string> rules_of(const Json& audit, const std::string& severity) {
  std::set<std::string> ids;
  for (const Json& finding : audit.at("findings"))
    if (finding.at("severity") == severity) ids.insert(finding.at("rule").get<std::string>());
  return ids;
}

std::set<std::string> not_checked(const Json& audit) {
  std::set<std::string> ids;
  for (const Json& entry : audit.at("not_checked")) ids.insert(entry.at("rule").get<std::string>());
  return ids;
}

/// The text with one blank between words, however its lines end.
std::string words_of(const std::string& text) {
  std::istringstream in(text);
  std::string words;
  for (std::string word; in >> word;) words.append(word).append(1, ' ');
  return words;
}

Json audit_json(const std::string& arguments, int exit_code) {
  const Outcome outcome = refrain_program("audit --format json " + arguments);
  INFO(arguments << "\n" << outcome.err);
  CHECK(outcome.exit_code == exit_code);
  const Json json = Json::parse(outcome.out);
  CHECK(json.begin().key() == "schema");
  CHECK(json.at("schema") == "refrain.audit/1");
  CHECK(json.at("exit_code") == exit_code);
  return json;
}

}  // namespace

TEST_CASE("program: the report's case prints its numbers as refrain.run/1 and exits 1") {
  const Outcome outcome = refrain_program(
      "run --device host --step grouped_prefill --poison null-block --fault kernel-zero-off,pad-fix-off --format json");
  CHECK(outcome.exit_code == 1);
  const Json json = Json::parse(outcome.out);
  CHECK(json.begin().key() == "schema");
  CHECK(json.at("schema") == "refrain.run/1");
  CHECK(json.at("step") == "grouped_prefill");
  CHECK(json.at("graph").at("nodes") == 5);  // kv_append, plan_grouped, attention, plan_xqa, decode
  CHECK(json.at("graph").at("edges") == 4);
  CHECK(json.at("replay").at("count") == 3);
  CHECK(json.at("replay").at("nan_count") == 480);
  CHECK(json.at("replay").at("nan_dims") == Json({102, 152, 168, 170, 230}));
  CHECK(rules_of(json.at("audit"), "error") == std::set<std::string>{"RF304"});
  CHECK(json.at("audit").at("schema") == "refrain.audit/1");
}

TEST_CASE("program: the finding that README opens with is what the report's case prints, but for where lines end") {
  const std::string readme = read_text(std::string(REFRAIN_SOURCE_DIR) + "/README.md");
  const std::size_t begin = readme.find("```\n") + 4, end = readme.find("```\n", begin);
  const std::string finding = words_of(readme.substr(begin, end - begin));
  CHECK(finding.starts_with("error RF304 "));
  const Outcome outcome = refrain_program(
      "run --device host --step grouped_prefill --poison null-block --fault kernel-zero-off,pad-fix-off");
  CHECK(words_of(outcome.out).find(finding) != std::string::npos);
}

TEST_CASE("program: the clean step exits 0 with no finding") {
  const Outcome outcome = refrain_program("run --device host --step grouped_prefill --poison null-block --format json");
  CHECK(outcome.exit_code == 0);
  const Json json = Json::parse(outcome.out);
  CHECK(json.at("audit").at("findings").empty());
  CHECK(json.at("graph").at("nodes") == 5);  // the planner fixes the padding: a node of its own does it nowhere
  CHECK(json.at("replay").at("bit_equal") == true);
  CHECK(json.at("replay").at("max_abs_error_reference").get<double>() <= 2.5e-4);
}

TEST_CASE("program: after a failed capture graph and replay are null") {
  const Outcome outcome =
      refrain_program("run --device host --step xqa_decode --fault host-sync --context 64 --format json");
  CHECK(outcome.exit_code == 1);
  const Json json = Json::parse(outcome.out);
  CHECK(json.at("graph").is_null());
  CHECK(json.at("replay").is_null());
  CHECK(rules_of(json.at("audit"), "error") == std::set<std::string>{"RF101"});
}

TEST_CASE("program: a saved graph audits like the run that made it") {
  const std::string file = temporary_file("graph.json", "");
  const Outcome run =
      refrain_program("run --device host --step grouped_prefill --context 64 --fault pad-fix-off --save-graph " + file);
  CHECK(run.exit_code == 1);
  const Json json = audit_json(file, 1);
  CHECK(rules_of(json, "error") == std::set<std::string>{"RF304"});
  CHECK(Json::parse(read_text(file)).at("schema") == "refrain.graph/1");
}

TEST_CASE("program: a dump with a pageable copy and an alloc node is RF103 and RF202, exit 1") {
  const Json json = audit_json(sample("memset_memcpy_alloc.dot"), 1);
  CHECK(rules_of(json, "error") == std::set<std::string>{"RF103"});
  CHECK(rules_of(json, "warning") == std::set<std::string>{"RF202"});
}

TEST_CASE("program: every node kind in one dump: RF103, RF105, RF202, bodies visible") {
  const Json json = audit_json(sample("all_kinds_verbose.dot"), 1);
  std::set<std::string> found = rules_of(json, "error");
  for (const std::string& id : rules_of(json, "warning")) found.insert(id);
  CHECK(found == std::set<std::string>{"RF103", "RF105", "RF202"});
  CHECK_FALSE(not_checked(json).contains("RF606"));
}

TEST_CASE("program: the plain twin cannot tell pageable from pinned and says so") {
  for (const char* twin : {"all_kinds_plain.dot", "all_kinds_node_attributes.dot"}) {
    const Json json = audit_json(sample(twin), 0);
    CHECK(rules_of(json, "warning") == std::set<std::string>{"RF105", "RF202"});
    CHECK(not_checked(json).contains("RF103"));
  }
}

TEST_CASE(
    "program: a clean dump has no finding, lists the pointer rules as not checked, and --require makes that exit 3") {
  const Json json = audit_json(sample("llama_decode.dot"), 0);
  CHECK(json.at("findings").empty());
  CHECK(not_checked(json).contains("RF401"));
  CHECK(not_checked(json).contains("RF402"));
  CHECK(json.at("unknown_nodes") == 225);
  (void)audit_json("--require RF401 " + sample("llama_decode.dot"), 3);
  (void)audit_json("--require RF103 " + sample("llama_decode.dot"), 0);
}

TEST_CASE("program: a finding wins over a rule that could not be checked, and --fail-on moves the threshold") {
  (void)audit_json("--require RF401 " + sample("memset_memcpy_alloc.dot"), 1);
  (void)audit_json("--fail-on warning " + sample("all_kinds_plain.dot"), 1);
  (void)audit_json(sample("llama_decode.dot") + " " + sample("memset_memcpy_alloc.dot"), 1);
}

TEST_CASE("program: rules lists the catalogue and explains one rule") {
  const Outcome all = refrain_program("rules --format json");
  CHECK(all.exit_code == 0);
  const Json json = Json::parse(all.out);
  CHECK(json.begin().key() == "schema");
  for (const Json& rule : json.at("rules"))
    for (const char* field : {"id", "name", "summary", "severity", "evidence", "fix"})
      CHECK_FALSE(rule.at(field).get<std::string>().empty());
  const Outcome one = refrain_program("rules RF304");
  CHECK(one.exit_code == 0);
  CHECK(one.out.find("pad-fix-missing") != std::string::npos);
  CHECK(refrain_program("rules RF999").exit_code == 2);
}

TEST_CASE("program: --list-faults prints name, steps and rules, one a line") {
  const Outcome outcome = refrain_program("run --list-faults");
  CHECK(outcome.exit_code == 0);
  CHECK(outcome.out.find("pad-fix-late           grouped_prefill                        RF305 ") != std::string::npos);
  CHECK(std::count(outcome.out.begin(), outcome.out.end(), '\n') >= 9);
}

TEST_CASE(
    "rules: the hazards are told as text and as JSON, the page as markdown, and forms that make no sense are refused") {
  const Outcome text = refrain_program("rules --hazards");
  CHECK(text.exit_code == 0);
  CHECK(text.out.find("no rule: ") != std::string::npos);
  const Json json = Json::parse(refrain_program("rules --hazards --format json").out);
  CHECK(json.at("schema") == "refrain.hazards/1");
  CHECK(json.at("hazards").size() == 43);
  CHECK(refrain_program("rules --format markdown").out.starts_with("# Rules\n"));
  for (const char* flags : {"RF301 --hazards", "--hazards --format markdown", "RF301 --format markdown", "RF999"}) {
    INFO(flags);
    const Outcome refused = refrain_program(std::string("rules ") + flags);
    CHECK(refused.exit_code == 2);
    CHECK(std::count(refused.err.begin(), refused.err.end(), '\n') == 1);
  }
}

TEST_CASE("program: a recording whose graphs are not in it is exit 3, and says so") {
  const std::string file = temporary_file(
      "late.jsonl",
      "{\"schema\": \"refrain.recording/1\", \"name\": \"late\"}\n"
      "{\"type\": \"call\", \"seq\": 1, \"api\": \"graph_launch\", \"thread\": 1, \"stream\": 3, \"object\": 9}\n"
      "{\"type\": \"end\", \"records\": 1}\n");
  const Outcome outcome = refrain_program("audit " + file);
  CHECK(outcome.exit_code == 3);
  CHECK(outcome.out.find("RF801") != std::string::npos);
}
