// refrain rules: the catalogue.
#include <fmt/format.h>

#include <memory>
#include <string>

#include "audit/catalogue.hpp"
#include "cli/command.hpp"
#include "graphs/error.hpp"

namespace refrain {
namespace {

struct RulesFlags {
  std::string id;
  Format format = Format::text;
};

int run(const RulesFlags& flags) {
  const Rule* only = nullptr;
  if (!flags.id.empty()) {
    only = find_rule(flags.id);
    if (only == nullptr) throw Error(ErrorKind::usage, flags.id, "no such rule; refrain rules lists them all", "");
  }
  if (flags.format == Format::json)
    fmt::print("{}", catalogue_json(only));
  else
    fmt::print("{}", only != nullptr ? rule_text(*only) : catalogue_text());
  return kExitClean;
}

}  // namespace

std::function<int()> declare_rules(CLI::App& app) {
  auto flags = std::make_shared<RulesFlags>();
  app.add_option("id", flags->id, "one rule, e.g. RF301");
  add_format(app, flags->format);
  return [flags] { return run(*flags); };
}

}  // namespace refrain
