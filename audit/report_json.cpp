#include <nlohmann/json.hpp>

#include "audit/report.hpp"

namespace refrain {
namespace {

using Json = nlohmann::ordered_json;

Json finding_json(const Finding& finding) {
  return {{"rule", finding.rule},
          {"name", finding.name},
          {"severity", to_string(finding.severity)},
          {"certainty", to_string(finding.certainty)},
          {"count", finding.count},
          {"where", finding.where},
          {"graph", finding.graph},
          {"nodes", finding.nodes},
          {"message", finding.message},
          {"evidence", finding.evidence},
          {"fix", finding.fix},
          {"fingerprint", finding.fingerprint},
          {"input", finding.input},
          {"standing", to_string(finding.standing)},
          {"excuse", finding.excuse}};
}

}  // namespace

std::string report_json(const Report& report, const Threshold& threshold) {
  Json findings = Json::array(), not_checked = Json::array();
  for (const Finding& finding : report.findings()) findings.push_back(finding_json(finding));
  for (const NotChecked& item : report.not_checked())
    not_checked.push_back({{"rule", item.rule}, {"reason", item.reason}, {"input", item.input}});
  const Json json = {{"schema", "refrain.audit/1"},
                     {"inputs", report.inputs},
                     {"findings", std::move(findings)},
                     {"not_checked", std::move(not_checked)},
                     {"unknown_nodes", report.unknown_nodes},
                     {"summary",
                      {{"errors", report.count(Severity::error)},
                       {"warnings", report.count(Severity::warning)},
                       {"notes", report.count(Severity::note)},
                       {"known", report.count(Standing::known)},
                       {"suppressed", report.count(Standing::suppressed)}}},
                     {"remarks", report.remarks},
                     {"exit_code", report.exit_code(threshold)}};
  // A kernel's name may hold any byte: replace what is no UTF-8 rather than fail at the end of an audit.
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace refrain
