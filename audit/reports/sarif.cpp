// SARIF 2.1.0, the OASIS standard, section numbers beside what is not plain from the names. Fingerprints hold no
// address and no node number, so that a result stays the same alert from run to run.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "audit/reports/escape.hpp"
#include "audit/reports/formats.hpp"
#include "audit/reports/places.hpp"
#include "audit/rules.hpp"

namespace refrain {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kSchema =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";

/// A brace stands doubled in a message (3.11.5: it could be a placeholder), and a name must not become a link (3.11.6).
Json message(std::string_view text) {
  std::string out;
  for (const char c : visible(text)) {
    if (c == '(' && out.ends_with(']')) out += ' ';
    if (c == '{' || c == '}') out += c;
    out += c;
  }
  return {{"text", out}};
}

std::string pascal(std::string_view kebab) {
  std::string name;
  bool upper = true;
  for (const char c : kebab) {
    if (c == '-') {
      upper = true;
      continue;
    }
    name += upper && c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    upper = false;
  }
  return name;
}

/// reportingDescriptor, 3.49.
Json rule_json(const Rule& rule) {
  const std::string help = fmt::format("{}\n\nNeeds: {}.\n\nFix: {}", rule.explanation, rule.evidence, rule.fix);
  return {{"id", rule.id},
          {"name", pascal(rule.name)},
          {"shortDescription", {{"text", rule.summary}}},
          {"fullDescription", {{"text", rule.explanation}}},
          {"help", {{"text", help}}},
          {"defaultConfiguration", {{"level", to_string(rule.severity)}}},
          {"properties", {{"tags", Json::array({"cuda-graph", rule.name})}}}};
}

class SarifReport {
 public:
  explicit SarifReport(const ReportSource& source) : report_(source.report), source_(source), places_(source.subjects) {
    for (const std::string& input : report_.inputs)
      if (inputs_.emplace(input, inputs_.size()).second) artifacts_.push_back({{"location", {{"uri", uri(input)}}}});
    for (std::size_t i = 0; i < rules().size(); ++i) rules_.emplace(rules()[i].id, i);
  }

  std::string write() {
    Json descriptors = Json::array(), results = Json::array();
    for (const Rule& rule : rules()) descriptors.push_back(rule_json(rule));
    for (const Finding& finding : report_.findings()) results.push_back(result(finding));
    Json driver = {{"name", "refrain"}};
    if (!source_.version.empty()) driver["version"] = source_.version;
    driver["rules"] = std::move(descriptors);
    const Json run = {{"tool", {{"driver", std::move(driver)}}},
                      {"invocations", Json::array({invocation()})},
                      {"artifacts", artifacts_},
                      {"columnKind", "utf16CodeUnits"},
                      {"results", std::move(results)}};
    const Json log = {{"$schema", kSchema}, {"version", "2.1.0"}, {"runs", Json::array({run})}};
    return log.dump(2) + "\n";
  }

 private:
  [[nodiscard]] Json artifact(const std::string& input) const {
    return {{"uri", uri(input)}, {"index", inputs_.at(input)}};
  }

  /// The input as a whole: code scanning asks for a line, and a graph has none.
  [[nodiscard]] Json location(const Finding& finding) const {
    Json location = Json::object();
    if (inputs_.contains(finding.input))
      location["physicalLocation"] = {{"artifactLocation", artifact(finding.input)}, {"region", {{"startLine", 1}}}};
    if (Json logical = logical_locations(finding); !logical.empty()) location["logicalLocations"] = std::move(logical);
    location["message"] = message(finding.where);
    return location;
  }

  [[nodiscard]] Json logical_locations(const Finding& finding) const {
    Json list = Json::array();
    if (finding.graph.empty()) return list;
    const GraphView* view = places_.graph(finding);
    std::vector<NodeId> nodes = finding.nodes;
    std::sort(nodes.begin(), nodes.end());
    nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
    nodes.resize(std::min(nodes.size(), kMostListed));
    for (const NodeId node : nodes) {
      const bool known = view != nullptr && node < view->graph().nodes.size();
      const std::string name = known ? describe(view->graph(), node) : fmt::format("node {}", node);
      list.push_back({{"name", visible(name)},
                      {"fullyQualifiedName", visible(fmt::format("{}/{}", finding.graph, name))},
                      {"kind", "node"}});
    }
    if (list.empty())
      list.push_back(
          {{"name", visible(finding.graph)}, {"fullyQualifiedName", visible(finding.graph)}, {"kind", "graph"}});
    return list;
  }

  [[nodiscard]] Json result(const Finding& finding) const {
    std::string text = finding.message;
    for (const std::string& fact : finding.evidence) text += fmt::format(" ({})", fact);
    Json json = {{"ruleId", finding.rule},
                 {"ruleIndex", rules_.at(finding.rule)},
                 {"level", to_string(finding.severity)},
                 {"message", message(fmt::format("{}: {}. Fix: {}", finding.where, text, finding.fix))},
                 {"locations", Json::array({location(finding)})},
                 {"partialFingerprints",
                  {{"refrain/v1", finding.fingerprint}, {"primaryLocationLineHash", finding.fingerprint}}}};
    if (finding.count > 0) json["occurrenceCount"] = finding.count;
    if (const auto site = places_.call_site(finding))
      json["relatedLocations"] = Json::array(
          {{{"id", 1},
            {"physicalLocation",
             {{"artifactLocation", {{"uri", uri(visible(site->file))}}}, {"region", {{"startLine", site->line}}}}},
            {"message", {{"text", "launched here"}}}}});
    if (report_.has_baseline) json["baselineState"] = finding.standing == Standing::known ? "unchanged" : "new";
    json["suppressions"] = Json::array();  // an empty one says that the result counts, 3.27.23
    if (finding.standing != Standing::open)
      json["suppressions"].push_back(
          {{"kind",
            "external"},  // accepted unless a status says otherwise, 3.35.3; its name changed before the standard
           {"justification",
            finding.standing == Standing::known ? "stands in the baseline" : visible(finding.excuse)}});
    json["properties"] = {{"certainty", to_string(finding.certainty)}, {"standing", to_string(finding.standing)}};
    return json;
  }

  [[nodiscard]] Json notification(const NotChecked& item) const {
    Json json = {{"level", "note"},
                 {"message", message(fmt::format("{} was not checked: {}", item.rule, item.reason))},
                 {"associatedRule", {{"id", item.rule}, {"index", rules_.at(item.rule)}}}};
    if (inputs_.contains(item.input))
      json["locations"] = Json::array({{{"physicalLocation", {{"artifactLocation", artifact(item.input)}}}}});
    return json;
  }

  [[nodiscard]] Json invocation() const {
    Json not_checked = Json::array(), remarks = Json::array();
    for (const NotChecked& item : report_.not_checked()) not_checked.push_back(notification(item));
    for (const std::string& remark : report_.remarks)
      remarks.push_back({{"level", "warning"}, {"message", message(remark)}});
    return {{"executionSuccessful", true},
            {"exitCode", report_.exit_code(source_.threshold)},
            {"toolExecutionNotifications", std::move(not_checked)},
            {"toolConfigurationNotifications", std::move(remarks)}};
  }

  const Report& report_;
  const ReportSource& source_;
  Places places_;
  std::unordered_map<std::string, std::size_t> inputs_, rules_;
  Json artifacts_ = Json::array();  // each input once: the schema wants them unique, like a result's nodes
};

}  // namespace

std::string report_sarif(const ReportSource& source) {
  return SarifReport(source).write();
}

}  // namespace refrain
