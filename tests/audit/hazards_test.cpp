// The table of hazards against the table of rules, and the committed page of the
// catalogue against what the program writes.
#include <fstream>
#include <sstream>

#include "audit/catalogue.hpp"
#include "audit/hazards.hpp"
#include "tests/catch.hpp"

using namespace refrain;

TEST_CASE("hazards: each of the 43 names rules that exist or says why none can see it") {
  unsigned number = 0;
  for (const Hazard& hazard : hazards()) {
    INFO(hazard.name);
    CHECK(hazard.number == ++number);
    CHECK((!rules_of(hazard).empty() || *hazard.limit != '\0'));
    for (const std::string_view id : rules_of(hazard)) {
      INFO(id);
      CHECK(find_rule(id) != nullptr);
    }
  }
  CHECK(number == 43);
}

TEST_CASE("hazards: the ids of a row are cut at its spaces") {
  CHECK(rules_of({1, "", "RF101 RF503", ""}) == std::vector<std::string_view>{"RF101", "RF503"});
  CHECK(rules_of({1, "", "", "none can"}).empty());
}

TEST_CASE("catalogue: audit/RULES.md is what refrain rules --format markdown writes") {
  std::ifstream in(std::string(REFRAIN_SOURCE_DIR) + "/audit/RULES.md", std::ios::binary);
  REQUIRE(in);
  std::ostringstream text;
  text << in.rdbuf();
  INFO("stale: refrain rules --format markdown > audit/RULES.md");
  CHECK((text.str() == catalogue_markdown()));
}
