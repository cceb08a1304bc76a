// refrain rules: the catalogue.
#include <fmt/format.h>

#include <map>
#include <memory>
#include <string>

#include "audit/catalogue.hpp"
#include "cli/command.hpp"
#include "graphs/error.hpp"

namespace refrain {
namespace {

enum class PageFormat { text, json, markdown };

const std::map<std::string, PageFormat> kFormats{
    {"text", PageFormat::text}, {"json", PageFormat::json}, {"markdown", PageFormat::markdown}};

struct RulesFlags {
  std::string id;
  bool hazards = false;
  PageFormat format = PageFormat::text;
};

const Rule* rule_of(const RulesFlags& flags) {
  if (flags.id.empty()) return nullptr;
  const Rule* rule = find_rule(flags.id);
  if (rule == nullptr) throw Error(ErrorKind::usage, flags.id, "no such rule; refrain rules lists them all", "");
  if (flags.hazards)
    throw Error(ErrorKind::usage, "--hazards", fmt::format("lists all hazards; leave {} out", flags.id), "");
  return rule;
}

std::string answer(const RulesFlags& flags) {
  const Rule* only = rule_of(flags);
  switch (flags.format) {
    case PageFormat::json: return flags.hazards ? hazards_json() : catalogue_json(only);
    case PageFormat::markdown:
      if (only != nullptr || flags.hazards)
        throw Error(ErrorKind::usage, "--format markdown",
                    "is the page of the whole catalogue, hazards included; leave the rule and --hazards out", "");
      return catalogue_markdown();
    case PageFormat::text: break;
  }
  if (flags.hazards) return hazards_text();
  return only != nullptr ? rule_text(*only) : catalogue_text();
}

}  // namespace

std::function<int()> declare_rules(Options app) {
  auto flags = std::make_shared<RulesFlags>();
  app.add_option("id", flags->id, "one rule, e.g. RF301");
  app.add_flag("--hazards", flags->hazards, "the known hazards: which rules see each, or why none can");
  app.add_choice("--format", flags->format, kFormats, "text, json or markdown");
  return [flags] {
    fmt::print("{}", answer(*flags));
    return kExitClean;
  };
}

}  // namespace refrain
