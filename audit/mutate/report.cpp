#include "audit/mutate/report.hpp"

#include <fmt/format.h>

#include "audit/reports/escape.hpp"

namespace refrain::mutate {
namespace {

using Json = nlohmann::ordered_json;

Json counts_json(const Counts& counts) {
  Json json;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    std::string key = to_string(static_cast<Verdict>(i));
    for (char& c : key)
      if (c == ' ') c = '_';
    json[key] = counts[i];
  }
  return json;
}

std::string table_line(const std::string& name, const Counts& counts) {
  std::string line = fmt::format("{:<18}", name);
  for (const std::size_t count : counts) line += fmt::format("{:>18}", count);
  return line + "\n";
}

std::string escape_text(const Escape& escape) {
  std::string text = fmt::format("\n{}: {}\n", to_string(escape.verdict), visible(escape.what));
  if (!escape.why.empty()) text += fmt::format("  harm: {}\n", visible(escape.why));
  for (const std::string& found : escape.found) text += fmt::format("  found {}\n", visible(found));
  return text;
}

}  // namespace

Json tally_json(const Tally& tally) {
  Counts all{};
  Json operators = Json::array(), escapes = Json::array();
  for (const OperatorTally& of : tally.operators) {
    Json line = {{"operator", of.name}};
    line.update(counts_json(of.counts));
    operators.push_back(std::move(line));
    for (std::size_t i = 0; i < all.size(); ++i) all[i] += of.counts[i];
  }
  for (const Escape& escape : tally.escapes)
    escapes.push_back({{"verdict", to_string(escape.verdict)},
                       {"mutant", escape.what},
                       {"harm", escape.why},
                       {"found", escape.found}});
  Json json = {{"mutants", tally.mutants()}};
  json.update(counts_json(all));
  json.update(
      Json{{"operators", operators}, {"kills", tally.kills}, {"escapes", escapes}, {"equivalents", tally.equivalents}});
  return json;
}

std::string tally_text(const Tally& tally) {
  std::string text = fmt::format("{:<18}", "operator");
  Counts all{};
  for (std::size_t i = 0; i < kVerdicts; ++i) text += fmt::format("{:>18}", to_string(static_cast<Verdict>(i)));
  text += '\n';
  for (const OperatorTally& of : tally.operators) {
    text += table_line(of.name, of.counts);
    for (std::size_t i = 0; i < all.size(); ++i) all[i] += of.counts[i];
  }
  text += table_line("all", all);
  text += "\nkills by rule:";
  for (const auto& [rule, count] : tally.kills) text += fmt::format(" {} {}", rule, count);
  text += '\n';
  for (const Escape& escape : tally.escapes) text += escape_text(escape);
  const std::size_t equivalent = tally.count(Verdict::equivalent), killed = tally.count(Verdict::killed);
  return text +
         fmt::format("\n{} mutants: {} equivalent, {} of the other {} killed by the right rule with one finding\n",
                     tally.mutants(), equivalent, killed, tally.mutants() - equivalent);
}

}  // namespace refrain::mutate
