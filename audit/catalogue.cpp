#include "audit/catalogue.hpp"

#include <fmt/format.h>

#include <iterator>
#include <nlohmann/json.hpp>

#include "audit/hazards.hpp"

namespace refrain {
namespace {

using Json = nlohmann::ordered_json;

Json rule_json(const Rule& rule) {
  return {{"id", rule.id},
          {"name", rule.name},
          {"summary", rule.summary},
          {"severity", to_string(rule.severity)},
          {"evidence", rule.evidence},
          {"explanation", rule.explanation},
          {"fix", rule.fix}};
}

}  // namespace

std::string catalogue_text() {
  fmt::memory_buffer out;
  for (const Rule& rule : rules())
    fmt::format_to(std::back_inserter(out), "{}  {:<7}  {:<24}  {}\n", rule.id, to_string(rule.severity), rule.name,
                   rule.summary);
  return fmt::to_string(out);
}

std::string rule_text(const Rule& rule) {
  return fmt::format("{} {} ({})\n\n{}\n\n{}\n\nneeds: {}\nfix: {}\n", rule.id, rule.name, to_string(rule.severity),
                     rule.summary, rule.explanation, rule.evidence, rule.fix);
}

std::string catalogue_json(const Rule* only) {
  Json list = Json::array();
  for (const Rule& rule : rules())
    if (only == nullptr || only == &rule) list.push_back(rule_json(rule));
  return Json{{"schema", "refrain.rules/1"}, {"rules", std::move(list)}}.dump(2) + "\n";
}

std::string hazards_text() {
  fmt::memory_buffer out;
  for (const Hazard& hazard : hazards()) {
    const bool seen = *hazard.rules != '\0';
    fmt::format_to(std::back_inserter(out), "{:>2}  {}\n    {}{}{}\n", hazard.number, hazard.name,
                   seen ? hazard.rules : "no rule", *hazard.limit == '\0' ? "" : ": ", hazard.limit);
  }
  return fmt::to_string(out);
}

std::string hazards_json() {
  Json list = Json::array();
  for (const Hazard& hazard : hazards()) {
    const auto ids = rules_of(hazard);
    list.push_back({{"number", hazard.number}, {"name", hazard.name}, {"rules", ids}, {"limit", hazard.limit}});
  }
  return Json{{"schema", "refrain.hazards/1"}, {"hazards", std::move(list)}}.dump(2) + "\n";
}

}  // namespace refrain
