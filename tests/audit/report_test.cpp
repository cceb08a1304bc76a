#include "audit/report.hpp"

#include <nlohmann/json.hpp>

#include "audit/audit.hpp"
#include "tests/audit/build.hpp"
#include "tests/catch.hpp"

using namespace refrain;
using namespace refrain::test;

namespace {

Report with(std::initializer_list<Severity> severities) {
  Report report;
  for (const Severity severity : severities) {
    Finding finding;
    finding.rule = "RF307";
    finding.severity = severity;
    report.add(finding, {});
  }
  return report;
}

}  // namespace

TEST_CASE("report: the exit code is 1 from the threshold on and 0 below") {
  CHECK(with({}).exit_code() == 0);
  CHECK(with({Severity::warning}).exit_code() == 0);
  CHECK(with({Severity::error}).exit_code() == 1);
  CHECK(with({Severity::warning}).exit_code({Severity::warning, {}}) == 1);
  CHECK(with({Severity::warning}).exit_code({Severity::note, {}}) == 1);
  CHECK(with({Severity::note}).exit_code({Severity::warning, {}}) == 0);
}

TEST_CASE("report: a required rule that could not be checked gives 3, and a finding wins over it") {
  Report open = with({});
  open.not_checked("RF401", "no allocation history in the input");
  CHECK(open.exit_code() == 0);
  CHECK(open.exit_code({Severity::error, {"RF401"}}) == 3);
  CHECK(open.exit_code({Severity::error, {"RF301"}}) == 0);
  Report both = with({Severity::error});
  both.not_checked("RF401", "no allocation history in the input");
  CHECK(both.exit_code({Severity::error, {"RF401"}}) == 1);
}

TEST_CASE("report: an id that no rule has is told apart, for it is a mistake of the command line") {
  const std::vector<std::string> required = {"RF301", "RF999", "scratch"};
  CHECK(unknown_rules(required) == std::vector<std::string>{"RF999", "scratch"});
}

TEST_CASE("report: a reason stands once for a rule") {
  Report report;
  report.not_checked("RF401", "why");
  report.not_checked("RF401", "why");
  report.not_checked("RF402", "why");
  CHECK(report.not_checked().size() == 2);
}

TEST_CASE("report: fingerprints do not change with addresses, sizes or node numbers") {
  Graph graph = graph_of({counts(0)}, {});
  const std::string before = audit_graphs({graph}).findings().at(0).fingerprint;
  graph.buffers[0].base = 0x9000;
  graph.nodes.insert(graph.nodes.begin(), op("first"));
  CHECK(audit_graphs({graph}).findings().at(0).fingerprint == before);
  graph.buffers[0].name = "another";
  CHECK(audit_graphs({graph}).findings().at(0).fingerprint != before);
}

TEST_CASE("report: the text gives each finding with its place and fix, then what was not checked, then the sum") {
  Graph graph = graph_of({counts(0)}, {});
  graph.name = "decode";
  graph.capture.phase = "decode";
  Report report;
  report.add(audit_graphs({graph}, "a.json").findings().at(0), {});
  report.not_checked("RF101", "a graph alone does not show the calls made during its capture");
  report.not_checked("RF401", "no allocation history in the input");
  report.not_checked("RF402", "no allocation history in the input");
  report.nodes = 1;
  const std::string text = report_text(report);
  CHECK(text ==
        "== zeroing, padding, order ==\n\n"
        "error RF301 scratch-not-zeroed  step decode, node 0 (count), buffer buffer_a\n"
        "    node 0 (count) needs bytes [0, 64) of buffer_a zeroed, and no node before it zeroes them; a replay then "
        "starts "
        "from what the last one left there\n"
        "    fix: zero bytes [0, 64) of buffer_a inside the captured region, before node 0 (count), in every replay: "
        "in the "
        "kernel that plans, or with cudaMemsetAsync on the capturing stream\n"
        "\n"
        "not checked\n"
        "    RF101: a graph alone does not show the calls made during its capture\n"
        "    RF401, RF402: no allocation history in the input\n"
        "\n"
        "1 error, 0 warnings, 0 notes; 0 of 1 node without a contract\n");
}

TEST_CASE("report: nothing found is called clean only as far as it was checked") {
  Report report;
  CHECK(report_text(report) == "clean: every rule was checked and none is broken; 0 of 0 nodes without a contract\n");
  report.not_checked("RF101", "why");
  CHECK(report_text(report).find("clean as far as it was checked") != std::string::npos);
}

TEST_CASE("report: the JSON holds the schema's fields") {
  Graph graph = graph_of({counts(0)}, {});
  const auto json = nlohmann::json::parse(report_json(audit_graphs({graph}, "a.json")));
  CHECK(json.at("schema") == "refrain.audit/1");
  CHECK(json.at("inputs") == nlohmann::json::array({"a.json"}));
  CHECK(json.at("unknown_nodes") == 0);
  CHECK(json.at("summary").at("errors") == 1);
  CHECK(json.at("exit_code") == 1);
  const auto& finding = json.at("findings").at(0);
  CHECK(finding.at("rule") == "RF301");
  CHECK(finding.at("name") == "scratch-not-zeroed");
  CHECK(finding.at("severity") == "error");
  CHECK(finding.at("certainty") == "contract");
  CHECK(finding.at("graph") == "g");
  CHECK(finding.at("nodes") == nlohmann::json::array({0}));
  for (const char* key : {"where", "message", "evidence", "fix", "fingerprint", "count"}) CHECK(finding.contains(key));
  CHECK(json.at("not_checked").at(0).at("rule") == "RF101");
  CHECK(json.at("not_checked").at(0).contains("reason"));
}

TEST_CASE("report: a name that is no UTF-8 does not end the audit") {
  Graph graph = graph_of({counts(0)}, {});
  graph.buffers[0].name = "bad\xff";
  CHECK_NOTHROW(nlohmann::json::parse(report_json(audit_graphs({graph}))));
}
