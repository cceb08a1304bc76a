#include "audit/reports/finding_json.hpp"

#include <nlohmann/json.hpp>

namespace refrain {

using Json = nlohmann::ordered_json;

Json finding_json(const Finding& finding) {
  Json json = {{"rule", finding.rule},
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
  if (finding.call) json["call"] = *finding.call;
  if (finding.step) json["step"] = *finding.step;
  return json;
}

Json findings_json(const Report& report) {
  Json findings = Json::array();
  for (const Finding& finding : report.findings()) findings.push_back(finding_json(finding));
  return findings;
}

Json not_checked_json(const Report& report) {
  Json list = Json::array();
  for (const NotChecked& item : report.not_checked())
    list.push_back({{"rule", item.rule}, {"reason", item.reason}, {"input", item.input}});
  return list;
}

Json summary_json(const Report& report) {
  return {{"errors", report.count(Severity::error)},
          {"warnings", report.count(Severity::warning)},
          {"notes", report.count(Severity::note)},
          {"known", report.count(Standing::known)},
          {"suppressed", report.count(Standing::suppressed)}};
}

}  // namespace refrain
