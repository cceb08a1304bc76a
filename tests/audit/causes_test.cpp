// One fault is one finding: what hangs together, and what does not.
#include "audit/audit.hpp"
#include "tests/audit/build.hpp"
#include "tests/catch.hpp"

using namespace refrain;
using namespace refrain::test;

namespace {

std::vector<std::string> rules_of(const Graph& graph) {
  std::vector<std::string> rules;
  for (const Finding& finding : audit_graphs({graph}).findings()) rules.push_back(finding.rule);
  return rules;
}

using Rules = std::vector<std::string>;

}  // namespace

TEST_CASE("causes: consumers of one scratch that nobody zeroes are one finding that names them all") {
  const Node look = op("look", {touch(0, Mode::read)}, {{Fact::zeroed, 0, kAll}});
  const Report report = audit_graphs({graph_of({look, look, look}, {})});
  REQUIRE(report.findings().size() == 1);
  CHECK(report.findings()[0].rule == "RF301");
  CHECK(report.findings()[0].nodes == std::vector<NodeId>{0, 1, 2});
  CHECK(report.findings()[0].count == 3);
}

TEST_CASE("causes: two scratches that nobody zeroes are two findings with fingerprints of their own") {
  const Report report = audit_graphs({graph_of({counts(0), counts(1)}, {}, 2)});
  REQUIRE(report.findings().size() == 2);
  CHECK(report.findings()[0].fingerprint != report.findings()[1].fingerprint);
}

TEST_CASE("causes: an unwritten scratch that must be zero is one finding, not also a read before a write") {
  CHECK(rules_of(graph_of({counts(0)}, {})) == Rules{"RF301"});
}

TEST_CASE("causes: a missing edge is one finding, with all the buffers and races that it leaves behind") {
  // plan zeroes a, writes b and c; count reads b; last reads a, b and c. The edge plan -> count is missing.
  const Node plan =
      op("plan", {touch(0, Mode::write), touch(1, Mode::write), touch(2, Mode::write)}, {}, {{Fact::zeroed, 0, kAll}});
  const Node count = op("count", {touch(0, Mode::accumulate), touch(1, Mode::read)}, {{Fact::zeroed, 0, kAll}});
  const Node last = op("last", {touch(0, Mode::read), touch(1, Mode::read), touch(2, Mode::read)});
  CHECK(rules_of(graph_of({plan, count, last}, {{0, 1}, {1, 2}}, 3)).empty());
  const Report report = audit_graphs({graph_of({plan, count, last}, {{1, 2}}, 3)});
  REQUIRE(report.findings().size() == 1);
  CHECK(report.findings()[0].rule == "RF303");
  CHECK(report.findings()[0].nodes == std::vector<NodeId>{1, 2});
}

TEST_CASE("causes: what lies before the missing edge is explained by it too") {
  // plan -> fix -> use, and the edge fix -> use is missing: use reads what both of them write.
  const Node plan = op("plan", {touch(0, Mode::write), touch(1, Mode::write)});
  const Node fix = op("fix", {touch(0, Mode::read_write)}, {}, {{Fact::pad_fixed, 0, kAll}});
  const Node use = op("use", {touch(0, Mode::read), touch(1, Mode::read)}, {{Fact::pad_fixed, 0, kAll}});
  CHECK(rules_of(graph_of({plan, fix, use}, {{0, 1}}, 2)) == Rules{"RF305"});
}

TEST_CASE("causes: two missing edges are two findings") {
  const auto branch = [](BufferId buffer) { return op("read", {touch(buffer, Mode::read)}); };
  const auto write = [](BufferId buffer) { return op("write", {touch(buffer, Mode::write)}); };
  CHECK(rules_of(graph_of({write(0), branch(0), write(1), branch(1)}, {}, 2)) == Rules{"RF306", "RF306"});
}

TEST_CASE("causes: a race without a failed need is told once a buffer, whatever the branches' length") {
  Graph graph = graph_of({op("a", {touch(0, Mode::write)}), op("b", {touch(0, Mode::write)}),
                          op("c", {touch(0, Mode::write)}), op("d", {touch(0, Mode::write)})},
                         {{0, 1}, {2, 3}});
  CHECK(rules_of(graph) == Rules{"RF307"});
}

TEST_CASE("causes: an edge that is missing for a later writer is one race finding, over all its buffers") {
  // The second layer overwrites a and b while the first may still read them.
  Graph graph = graph_of({op("first", {touch(0, Mode::read), touch(1, Mode::read)}),
                          op("second", {touch(0, Mode::write), touch(1, Mode::write)})},
                         {}, 2);
  graph.entry = {{Fact::written, 0, kAll, Origin::host_each_launch, ""},
                 {Fact::written, 1, kAll, Origin::host_each_launch, ""}};
  CHECK(rules_of(graph) == Rules{"RF307"});
}
