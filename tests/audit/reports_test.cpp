// Each format of a report on a small graph, to the letter where it is short. tests/reports/ reads them with parsers.
#include <nlohmann/json.hpp>

#include "audit/reports/formats.hpp"
#include "audit/reports/places.hpp"
#include "audit/rules.hpp"
#include "tests/audit/build.hpp"
#include "tests/catch.hpp"

using namespace refrain;
using namespace refrain::test;
using nlohmann::json;

namespace {

/// One unzeroed counter in a graph `g` of `in.json`; RF401 stands for all that was not checked.
struct World {
  explicit World(const std::string& name = "count") {
    Graph graph = graph_of({counts(0)}, {});
    graph.nodes[0].name = graph.nodes[0].op = name;
    graph.nodes[0].call_site = "serve.cpp:12";
    subjects.push_back({{{"in.json", {graph}, {}, false}}});
    const Report all = audit(subjects[0]);
    report.inputs = {"in.json"};
    report.nodes = 1;
    for (const Finding& finding : all.findings()) report.add(finding, {});
    report.not_checked("RF401", "no history, <none>");
  }
  [[nodiscard]] std::string write(const char* format) const {
    return find_report_format(format)->write({report, subjects, {}, "1.2.3"});
  }
  void suppress() { report.excuse(0, Standing::suppressed, "a reason | <b>"); }

  std::vector<Subject> subjects;
  Report report;
};

bool contains(const std::string& text, std::string_view words) {
  return text.find(words) != std::string::npos;
}

std::size_t occurrences(const std::string& text, std::string_view words) {
  std::size_t count = 0;
  for (std::size_t at = text.find(words); at != std::string::npos; at = text.find(words, at + 1)) ++count;
  return count;
}

}  // namespace

TEST_CASE("reports: colour comes only when asked for and changes no word") {
  const World world;
  const std::string plain = report_text(world.report), colour = report_text(world.report, true);
  CHECK_FALSE(contains(plain, "\x1b"));
  CHECK(contains(colour, "\x1b[1;31merror\x1b[0m RF301"));
  std::string stripped;
  for (std::size_t i = 0; i < colour.size(); ++i)
    if (colour[i] == '\x1b')
      i = colour.find('m', i);
    else
      stripped += colour[i];
  CHECK(stripped == plain);
}

TEST_CASE("reports: findings stand under their group and name their input when there are several") {
  World world;
  CHECK(report_text(world.report).starts_with("== zeroing, padding, order ==\n\nerror RF301"));
  CHECK_FALSE(contains(report_text(world.report), "in.json"));
  Report other;
  other.inputs = {"other.json"};
  world.report.merge(other);
  CHECK(contains(report_text(world.report), "error RF301 scratch-not-zeroed  in.json: graph g, node 0"));
}

TEST_CASE("reports: the SARIF log has a rule for each row of the table and leads each result to its own") {
  const World world;
  const json log = json::parse(world.write("sarif"));
  CHECK(log.at("version") == "2.1.0");
  const json& run = log.at("runs").at(0);
  CHECK(run.at("tool").at("driver").at("version") == "1.2.3");
  CHECK(run.at("tool").at("driver").at("rules").size() == rules().size());
  const json& result = run.at("results").at(0);
  CHECK(result.at("ruleId") == "RF301");
  CHECK(run.at("tool").at("driver").at("rules").at(result.at("ruleIndex").get<std::size_t>()).at("id") == "RF301");
  CHECK(result.at("level") == "error");
  CHECK(result.at("partialFingerprints").at("refrain/v1") == world.report.findings()[0].fingerprint);
  CHECK(result.at("suppressions").empty());
  CHECK_FALSE(result.contains("baselineState"));
  const json& location = result.at("locations").at(0);
  CHECK(location.at("physicalLocation").at("artifactLocation").at("uri") == "in.json");
  CHECK(location.at("logicalLocations").at(0).at("fullyQualifiedName") == "g/node 0 (count)");
  const json& launched = result.at("relatedLocations").at(0).at("physicalLocation");
  CHECK(launched.at("artifactLocation").at("uri") == "serve.cpp");
  CHECK(launched.at("region").at("startLine") == 12);
  const json& note = run.at("invocations").at(0).at("toolExecutionNotifications").at(0);
  CHECK(note.at("associatedRule").at("id") == "RF401");
  CHECK(note.at("message").at("text") == "RF401 was not checked: no history, <none>");
  CHECK(run.at("invocations").at(0).at("exitCode") == 1);
}

TEST_CASE("reports: SARIF tells suppressed from known and from new") {
  World world;
  world.suppress();
  const json suppressed = json::parse(world.write("sarif"))["runs"][0]["results"][0];
  CHECK(suppressed["suppressions"][0]["justification"] == "a reason | <b>");
  CHECK_FALSE(suppressed.contains("baselineState"));
  world.report.has_baseline = true;
  world.report.excuse(0, Standing::known, "");
  CHECK(json::parse(world.write("sarif"))["runs"][0]["results"][0]["baselineState"] == "unchanged");
  world.report.excuse(0, Standing::open, "");
  CHECK(json::parse(world.write("sarif"))["runs"][0]["results"][0]["baselineState"] == "new");
}

TEST_CASE("reports: SARIF fingerprints do not change with addresses and node numbers") {
  const World world;
  Graph graph = graph_of({op("first"), counts(0)}, {});
  graph.buffers[0].base = 0x77000;
  std::vector<Subject> moved{{{{"in.json", {graph}, {}, false}}}};
  const Report report = audit(moved[0]);
  const json before = json::parse(report_sarif({audit(world.subjects[0]), world.subjects, {}, ""}));
  const json after = json::parse(report_sarif({report, moved, {}, ""}));
  CHECK(before["runs"][0]["results"][0]["partialFingerprints"] ==
        after["runs"][0]["results"][0]["partialFingerprints"]);
}

TEST_CASE("reports: JUnit has a case a rule and a failure with all that is known of it") {
  const World world;
  const std::string text = world.write("junit");
  CHECK(occurrences(text, "<testcase ") == rules().size());
  CHECK(contains(text, "<testsuite name=\"in.json\" tests=\"" + std::to_string(rules().size()) +
                           "\" failures=\"1\" errors=\"0\" skipped=\"1\" time=\"0\">"));
  CHECK(contains(text, "    <testcase classname=\"in.json\" name=\"RF302 zeroing-short\" time=\"0\"/>\n"));
  CHECK(contains(text,
                 "    <testcase classname=\"in.json\" name=\"RF401 stale-pointer\" time=\"0\">\n"
                 "      <skipped message=\"not checked: no history, &lt;none&gt;\"/>\n    </testcase>\n"));
  CHECK(contains(text, "<failure type=\"error\" message=\"graph g, node 0 (count), buffer buffer_a: "));
  CHECK(contains(text, "fingerprint: " + world.report.findings()[0].fingerprint));
}

TEST_CASE("reports: in JUnit what is suppressed or below the threshold fails no case and is told") {
  World world;
  world.suppress();
  const std::string text = world.write("junit");
  CHECK_FALSE(contains(text, "<failure"));
  CHECK(contains(text, "<system-out>\nsuppressed: a reason | &lt;b&gt;\nerror RF301 "));
  Report warning;
  warning.inputs = {"in.json"};
  Finding finding = world.report.findings()[0];
  finding.severity = Severity::warning;
  finding.standing = Standing::open;
  warning.add(finding, {});
  CHECK(contains(report_junit({warning, world.subjects, {}, ""}), "below the threshold"));
  CHECK(contains(report_junit({warning, world.subjects, {Severity::warning, {}}, ""}), "<failure type=\"warning\""));
}

TEST_CASE("reports: an annotation points at the launch where it is known and else at the input") {
  World world;
  CHECK(world.write("github").starts_with(
      "::error title=RF301 scratch-not-zeroed,file=serve.cpp,line=12::graph g, node 0 (count), buffer buffer_a: "));
  world.subjects.clear();
  CHECK(world.write("github").starts_with("::error title=RF301 scratch-not-zeroed,file=in.json::"));
  world.suppress();
  CHECK_FALSE(contains(world.write("github"), "::error"));
  CHECK(contains(world.write("github"), "suppressed: RF301 scratch-not-zeroed"));
}

TEST_CASE("reports: Markdown shows the sum and a table and the folded fix") {
  World world;
  const std::string text = world.write("markdown");
  CHECK(text.starts_with("## Refrain audit: 1 error, 0 warnings, 0 notes\n"));
  CHECK(contains(text,
                 "| error | RF301 scratch-not-zeroed | in.json | graph g, node 0 \\(count\\), buffer buffer\\_a |"));
  CHECK(contains(text, "<details><summary>RF301 scratch-not-zeroed</summary>"));
  CHECK(contains(text, "| RF401 | no history, &lt;none&gt; |"));
  world.suppress();
  CHECK(contains(world.write("markdown"), "| a reason \\| &lt;b&gt; |"));
}

TEST_CASE("reports: the page links a finding to its node and the node to its finding") {
  World world;
  const std::string text = world.write("html");
  CHECK(contains(text, "<a href=\"#node-0-0\">node 0 (count)</a>"));
  CHECK(contains(text,
                 "<a id=\"node-0-0\" class=\"node marked\" href=\"#finding-1\" aria-label=\"node 0 (count): RF301\">"));
  CHECK(contains(text, "<td>no history, &lt;none&gt;</td>"));
  world.suppress();
  CHECK(contains(world.write("html"), "<strong>suppressed</strong> a reason | &lt;b&gt;"));
}

TEST_CASE("reports: known and suppressed findings stand apart in text and JSON and the last line counts them") {
  World world;
  world.suppress();
  const std::string text = world.write("text");
  CHECK(contains(text,
                 "does not count\n    suppressed: error RF301 scratch-not-zeroed  graph g, node 0 (count), buffer "
                 "buffer_a (a reason | <b>)\n"));
  CHECK(text.ends_with("nothing new; 1 suppressed; 0 of 1 node without a contract\n"));
  const json report = json::parse(world.write("json"));
  CHECK(report["findings"][0]["standing"] == "suppressed");
  CHECK(report["summary"]["errors"] == 0);
  CHECK(report["summary"]["suppressed"] == 1);
  CHECK(report["exit_code"] == 0);
}

TEST_CASE("reports: remarks stand in every format") {
  World world;
  world.report.remarks = {"entry 7 expired"};
  for (const ReportFormat& format : report_formats()) {
    INFO(format.name);
    CHECK(contains(world.write(format.name), "entry 7 expired"));
  }
}

TEST_CASE("reports: a name of any bytes goes through every format") {
  const World world("<b>\"'\n\x1b[31m\xFF]]>&");
  for (const ReportFormat& format : report_formats()) {
    const std::string text = world.write(format.name);
    INFO(format.name);
    CHECK_FALSE(contains(text, "\x1b"));
    CHECK_FALSE(contains(text, "\xFF"));
    const std::string_view name = format.name;
    if (name == "junit" || name == "html" || name == "markdown") CHECK_FALSE(contains(text, "<b>"));
  }
}

TEST_CASE("reports: a call site is a file and a line or nothing") {
  CHECK(parse_call_site("a/b.cpp:7")->file == "a/b.cpp");
  CHECK(parse_call_site("c:/x.cpp:7")->line == 7);
  for (const char* text : {"", "a", "a:", ":7", "a:0", "a:x", "a:99999999999"}) CHECK_FALSE(parse_call_site(text));
}

TEST_CASE("reports: a finding of thousands of nodes does not make a page of megabytes") {
  World world;
  Graph graph = graph_of({}, {});
  graph.name = "wide";
  for (int i = 0; i < 5000; ++i) {
    Node node = unknown("callback");
    node.kind = NodeKind::host;
    graph.nodes.push_back(node);
  }
  world.subjects = {{{{"in.json", {graph}, {}, false}}}};
  world.report = audit(world.subjects[0]);
  const std::string page = world.write("html");
  CHECK(contains(page, "and 4900 more"));
  CHECK(page.size() < 300'000);
  CHECK(world.write("sarif").size() < 300'000);
}

TEST_CASE("reports: a page draws twelve graphs and says how many more have findings") {
  World world;
  world.subjects.clear();
  world.report = {};
  for (int i = 0; i < 15; ++i) {
    Graph graph = graph_of({counts(0)}, {});
    graph.name = std::to_string(i);
    world.subjects.push_back({{{"in.json", {graph}, {}, false}}});
    world.report.merge(audit(world.subjects.back()));
  }
  const std::string page = world.write("html");
  CHECK(occurrences(page, "<svg") == 12);
  CHECK(contains(page, "3 more graphs with findings not drawn"));
  CHECK(contains(page, "node 0 (count) (not drawn)"));
}
