// Nodes without a contract: a verdict that may hang on them is no finding, and
// never clean either.
#include "audit/audit.hpp"
#include "tests/audit/build.hpp"
#include "tests/catch.hpp"

using namespace refrain;
using namespace refrain::test;

namespace {

Report audit_of(Graph graph) {
  return audit_graphs({std::move(graph)});
}

bool has_rule(const Report& report, const std::string& rule) {
  for (const Finding& finding : report.findings())
    if (finding.rule == rule) return true;
  return false;
}

}  // namespace

TEST_CASE("unknown nodes: a kernel without a contract before the consumer may have zeroed its scratch") {
  const Report report = audit_of(graph_of({unknown("library"), counts(0)}, {{0, 1}}));
  CHECK(report.findings().empty());
  CHECK_FALSE(report.was_checked("RF301"));
  CHECK(report.unknown_nodes == 1);
  CHECK(report.exit_code({Severity::error, {"RF301"}}) == 3);
  CHECK(report.exit_code() == 0);
}

TEST_CASE("unknown nodes: one in parallel may have done so too, one after the consumer may not") {
  CHECK(audit_of(graph_of({counts(0), unknown("library")}, {})).findings().empty());
  CHECK(has_rule(audit_of(graph_of({counts(0), unknown("library")}, {{0, 1}})), "RF301"));
}

TEST_CASE("unknown nodes: short zeroing by a known node is a finding all the same") {
  CHECK(has_rule(audit_of(graph_of({unknown("library"), zeroes(0, {0, 16}), counts(0)}, {{0, 1}, {1, 2}})), "RF302"));
}

TEST_CASE("unknown nodes: a known zeroing in parallel is a finding all the same") {
  CHECK(has_rule(audit_of(graph_of({unknown("library"), zeroes(0), counts(0)}, {{0, 1}, {0, 2}})), "RF303"));
}

TEST_CASE("unknown nodes: a zeroing that comes too late proves nothing if an unknown node came first") {
  const Report report = audit_of(graph_of({unknown("library"), counts(0), zeroes(0)}, {{0, 1}, {1, 2}}));
  CHECK(report.findings().empty());
  CHECK_FALSE(report.was_checked("RF303"));
}

TEST_CASE("unknown nodes: a write that destroys is a finding unless an unknown node may come after it") {
  const Node write = op("write", {touch(0, Mode::write)});
  CHECK(has_rule(audit_of(graph_of({unknown("library"), zeroes(0), write, counts(0)}, {{0, 1}, {1, 2}, {2, 3}})),
                 "RF301"));
  CHECK(audit_of(graph_of({zeroes(0), write, unknown("library"), counts(0)}, {{0, 1}, {1, 2}, {2, 3}}))
            .findings()
            .empty());
}

TEST_CASE("unknown nodes: a counter zeroed once may be zeroed again by an unknown node after its use") {
  Graph graph = graph_of({counts(0), unknown("library")}, {{0, 1}});
  graph.entry = {{Fact::zeroed, 0, kAll, Origin::initialised_once, ""}};
  CHECK(audit_of(graph).findings().empty());
}

TEST_CASE("unknown nodes: events, empty nodes and allocations touch no memory and are none") {
  for (const NodeKind kind : {NodeKind::event_record, NodeKind::event_wait, NodeKind::empty, NodeKind::mem_alloc,
                              NodeKind::mem_free, NodeKind::semaphore_wait}) {
    Node node = unknown("");
    node.kind = kind;
    CHECK_FALSE(is_unknown(node));
  }
  for (const NodeKind kind : {NodeKind::kernel, NodeKind::memcpy, NodeKind::memset, NodeKind::host, NodeKind::child,
                              NodeKind::conditional, NodeKind::batch_mem_op, NodeKind::other}) {
    Node node = unknown("");
    node.kind = kind;
    CHECK(is_unknown(node));
    node.has_contract = true;
    CHECK_FALSE(is_unknown(node));
  }
}

TEST_CASE("unknown nodes: what a body lacks may come from the graph around it") {
  Graph outer = graph_of({unknown("child")}, {});
  outer.nodes[0].kind = NodeKind::child;
  outer.nodes[0].bodies = {graph_of({counts(0)}, {})};
  const Report report = audit_of(outer);
  CHECK(report.findings().empty());
  CHECK_FALSE(report.was_checked("RF301"));
  CHECK(report.nodes == 2);
}

TEST_CASE("unknown nodes: a body's own fault is found, under the path of the body") {
  Graph outer = graph_of({unknown("child")}, {});
  outer.name = "step";
  outer.nodes[0].kind = NodeKind::child;
  outer.nodes[0].bodies = {graph_of({zeroes(0), counts(0)}, {})};
  outer.nodes[0].bodies[0].name = "graph_5";
  const Report report = audit_of(outer);
  REQUIRE(report.findings().size() == 1);
  CHECK(report.findings()[0].rule == "RF303");
  CHECK(report.findings()[0].graph == "step/node 0/graph_5");
}
