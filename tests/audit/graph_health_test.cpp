// Rules 207, 603, 604, 607 and those of group 8: what counts and what does not,
// and that evidence which is missing is exit code 3. Their cases are in tests/cases.
#include <set>
#include <string>

#include "tests/audit/build.hpp"
#include "tests/audit/calls.hpp"
#include "tests/catch.hpp"

using namespace refrain;
using namespace refrain::test;

namespace {

using Ids = std::multiset<std::string>;

Ids ids_of(const Report& report) {
  Ids ids;
  for (const Finding& finding : report.findings()) ids.insert(finding.rule);
  return ids;
}

/// Two branches that write and read buffer 0, or one each.
Graph branches(Role role, bool second_reads_only = false) {
  Graph graph = graph_of({op("split_a", {touch(0, Mode::write)}), op("merge_a", {touch(0, Mode::read)}),
                          op("split_b", {touch(0, second_reads_only ? Mode::read : Mode::write)})},
                         {{0, 1}});
  graph.buffers[0].role = role;
  graph.entry = {{Fact::written, 0, kAll, Origin::initialised_once, ""}};
  return graph;
}

}  // namespace

TEST_CASE("RF207: two writers of a workspace are its own, of other memory RF307's") {
  CHECK(ids_of(audit_graphs({branches(Role::workspace)})) == Ids{"RF207"});
  CHECK(ids_of(audit_graphs({branches(Role::scratch)})) == Ids{"RF207"});
  CHECK(ids_of(audit_graphs({branches(Role::state)})) == Ids{"RF307"});
  CHECK(ids_of(audit_graphs({branches(Role::output)})) == Ids{"RF307"});
}

TEST_CASE("RF207: a writer and a reader of a workspace lack an edge, which is not its own") {
  const Ids ids = ids_of(audit_graphs({branches(Role::workspace, true)}));
  CHECK(ids.count("RF207") == 0);
  CHECK(ids.size() == 1);
}

TEST_CASE("RF207: where another buffer is hit too, the missing edge is the cause") {
  Graph graph = branches(Role::workspace);
  graph.buffers.push_back(graph.buffers[0]);
  graph.buffers[1].base = 0x9000;
  graph.buffers[1].role = Role::output;
  for (Node& node : graph.nodes) node.accesses.push_back(touch(1, Mode::write));
  CHECK(ids_of(audit_graphs({graph})).count("RF207") == 0);
}

TEST_CASE("RF603: buckets are compared within one input, by name and phase") {
  Graph first = graph_of({op("a"), op("b")}, {{0, 1}}), second = graph_of({op("a")}, {});
  first.capture.bucket = second.capture.bucket = "rows 8";
  CHECK(ids_of(audit_graphs({first, second})) == Ids{"RF603"});
  CHECK(ids_of(audit_graphs({first, first})).empty());
  CHECK(ids_of(audit(Subject{{{"a", {first}, {}, false}, {"b", {second}, {}, false}}})).empty());
  second.capture.phase = "prefill";
  CHECK(ids_of(audit_graphs({first, second})).empty());
  second.capture.phase = first.capture.phase;
  first.capture.bucket = second.capture.bucket = "";  // nothing says that they are meant to be equal
  CHECK(ids_of(audit_graphs({first, second})).empty());
}

TEST_CASE("RF604: a thousand kernels that follow one another are no explosion") {
  std::vector<Node> nodes(1000, op("layer"));
  std::vector<std::pair<NodeId, NodeId>> edges;
  for (NodeId i = 1; i < 1000; ++i) edges.push_back({i - 1, i});
  CHECK(ids_of(audit_graphs({graph_of(nodes, edges)})).empty());
  CHECK(ids_of(audit_graphs({graph_of(nodes, {})})) == Ids{"RF604"});
}

TEST_CASE("RF607: the driver decides whether an empty body hangs") {
  struct Case {
    const char* driver;
    Severity severity;
  };
  for (const Case& c :
       {Case{"550.163.01", Severity::error}, Case{"569.99", Severity::error}, Case{"570.26", Severity::note},
        Case{"CUDA 12.7", Severity::error}, Case{"CUDA 12.8", Severity::note}, Case{"13.0", Severity::note},
        Case{"host", Severity::note}, Case{"", Severity::warning}, Case{"mine", Severity::warning}}) {
    INFO(c.driver);
    Node node = unknown("if");
    node.kind = NodeKind::conditional;
    node.bodies.emplace_back();
    Graph graph = graph_of({node}, {});
    graph.capture.driver = c.driver;
    const auto found = audit_graphs({graph}).findings();
    REQUIRE(found.size() == 1);
    CHECK(found[0].rule == "RF607");
    CHECK(found[0].severity == c.severity);
  }
}

TEST_CASE("group 8: what an input lacks is exit code 3, and a finding beside it is exit code 1") {
  Calls calls;
  calls.call(Api::graph_launch, 3, 21);
  CHECK(audit(Subject{{calls.recording}}).exit_code() == 3);
  calls.recording.timeline.complete = false;
  CHECK(ids_of(audit(Subject{{calls.recording}})) == Ids{"RF801", "RF802"});
  ApiEvent& begin = calls.call(Api::begin_capture, 3);
  begin.capture = 1;
  begin.target = Target::capturing;
  ApiEvent& sync = calls.call(Api::device_synchronize);
  sync.capture = 1;
  sync.code = 900;
  CHECK(audit(Subject{{calls.recording}}).exit_code() == 1);
  CHECK(audit(Subject{{Recording{"empty", {}, {}, true}}}).exit_code() == 3);
}
