#include "audit/rules.hpp"

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>

#include "audit/audit.hpp"
#include "audit/catalogue.hpp"
#include "graphs/readers.hpp"
#include "tests/audit/build.hpp"
#include "tests/catch.hpp"

using namespace refrain;
using namespace refrain::test;

namespace {

std::set<std::string> rules_of(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  std::set<std::string> found;
  for (const Finding& finding : audit_graphs(read_dot(text.str(), file.string())).findings())
    found.insert(finding.rule);
  return found;
}

}  // namespace

TEST_CASE("rules: ids rise through the table and every row is filled in") {
  std::string last;
  for (const Rule& rule : rules()) {
    INFO(rule.id);
    CHECK(last < rule.id);
    last = rule.id;
    CHECK(find_rule(rule.id) == &rule);
    CHECK(rule.check != nullptr);
    for (const char* text : {rule.name, rule.summary, rule.evidence, rule.explanation, rule.fix})
      CHECK(std::string(text).size() > 3);
  }
  CHECK(find_rule("RF000") == nullptr);
}

TEST_CASE("rules: without any input nothing was checked") {
  const Report report = audit({});
  CHECK(report.findings().empty());
  for (const Rule& rule : rules()) CHECK_FALSE(report.was_checked(rule.id));
}

TEST_CASE("rules: the catalogue lists every rule, and one rule with its explanation") {
  const auto json = nlohmann::json::parse(catalogue_json());
  CHECK(json.at("schema") == "refrain.rules/1");
  CHECK(json.at("rules").size() == rules().size());
  const Rule* rule = find_rule("RF301");
  REQUIRE(rule != nullptr);
  const auto one = nlohmann::json::parse(catalogue_json(rule));
  REQUIRE(one.at("rules").size() == 1);
  for (const char* key : {"id", "name", "summary", "severity", "evidence", "fix"})
    CHECK(one.at("rules").at(0).contains(key));
  CHECK(rule_text(*rule).find(rule->explanation) != std::string::npos);
  CHECK(catalogue_text().find("RF402") != std::string::npos);
}

TEST_CASE("rules: real dumps give what is in them") {
  const std::filesystem::path data = std::filesystem::path(REFRAIN_SOURCE_DIR) / ".." / "shared" / "data" / "h200";
  if (!std::filesystem::exists(data)) REFRAIN_SKIP("no " + data.string());
  using Rules = std::set<std::string>;
  // A pageable copy to a stack array, on purpose, and an allocation node.
  CHECK(rules_of(data / "memset_memcpy_alloc.dot") == Rules{"RF103", "RF202"});
  // Kernels and one copy on the device: nothing to say.
  CHECK(rules_of(data / "llama_decode.dot").empty());
  CHECK(rules_of(data / "torch_matmul.dot").empty());
  // A host node and an allocation; plain labels do not show the copies' memory.
  CHECK(rules_of(data / "all_kinds_plain.dot") == Rules{"RF105", "RF202"});
}
