#include <nlohmann/json.hpp>

#include "audit/report.hpp"
#include "audit/reports/finding_json.hpp"

namespace refrain {

std::string report_json(const Report& report, const Threshold& threshold) {
  using Json = nlohmann::ordered_json;
  const Json json = {{"schema", "refrain.audit/1"},
                     {"inputs", report.inputs},
                     {"findings", findings_json(report)},
                     {"not_checked", not_checked_json(report)},
                     {"unknown_nodes", report.unknown_nodes},
                     {"summary", summary_json(report)},
                     {"remarks", report.remarks},
                     {"exit_code", report.exit_code(threshold)}};
  // A kernel's name may hold any byte: replace what is no UTF-8 rather than fail at the end of an audit.
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace refrain
