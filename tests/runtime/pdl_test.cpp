// Programmatic dependent launch: steps whose kernels start early, and wait on the device.
#include <algorithm>

#include "audit/audit.hpp"
#include "runtime/run.hpp"
#include "runtime/session.hpp"
#include "runtime/verify.hpp"
#include "tests/catch.hpp"
#include "tests/runtime/model/llama_cases.hpp"
#include "tests/runtime/test_driver.hpp"

using namespace refrain;

namespace {

RunOptions options_of(StepKind step, bool pdl) {
  RunOptions options;
  options.step.step = step;
  options.step.rows = step == StepKind::mtp_verify ? kByStep : 21;
  options.step.context = 1500;
  options.step.kv = Dtype::bf16;
  options.step.pdl = pdl;
  return options;
}

std::size_t programmatic(const Graph& graph) {
  return static_cast<std::size_t>(std::count_if(graph.edges.begin(), graph.edges.end(),
                                                [](const Edge& e) { return e.kind == EdgeKind::programmatic; }));
}

std::size_t errors_of(const Report& report) {
  return report.count(Severity::error);
}

}  // namespace

TEST_CASE("pdl: kernels that wait on the device get programmatic edges and the step the same bits") {
  const auto driver = test::make_test_driver();
  for (const StepKind step : {StepKind::grouped, StepKind::xqa, StepKind::mtp_verify}) {
    INFO(to_string(step));
    const RunResult early = run_step(*driver, options_of(step, true));
    const RunResult after = run_step(*driver, options_of(step, false));
    REQUIRE(early.graph);
    REQUIRE(after.graph);
    CHECK(programmatic(*after.graph) == 0);
    // plan_xqa and xqa_decode at the least; its first op has nothing ahead of it.
    if (test::starts_early())
      CHECK(programmatic(*early.graph) >= 2);
    else
      CHECK(programmatic(*early.graph) == 0);
    for (const Edge& edge : early.graph->edges) {
      if (edge.kind != EdgeKind::programmatic) continue;
      INFO(describe(*early.graph, edge.to));
      CHECK(early.graph->nodes[edge.to].waits == true);
      CHECK(early.graph->nodes[edge.from].kind == NodeKind::kernel);
    }
    CHECK(errors_of(early.audit) == 0);
    CHECK(early.audit.was_checked("RF309"));
    REQUIRE(early.replay);
    REQUIRE(after.replay);
    CHECK(early.replay->bit_equal);
    CHECK(early.replay->output.bytes == after.replay->output.bytes);
  }
  CHECK(test::holds_nothing(*driver));
}

TEST_CASE("pdl: what must not matter does not matter to early kernels either") {
  const auto driver = test::make_test_driver();
  StepOptions options = options_of(StepKind::grouped, true).step;
  options.kv = Dtype::e4m3;
  options.bucket = 24;
  const VerifyResult result = verify_step(*driver, options);
  for (const AxisResult& axis : result.axes) {
    INFO(axis.name << ' ' << axis.fill);
    CHECK(axis.finite);
    CHECK(axis.bit_equal);
  }
  CHECK(result.report.count(Severity::error) == 0);
}

TEST_CASE("pdl: an early kernel without its wait is found in the captured step") {
  if (!test::starts_early()) {
    WARN("not tested: nothing starts early, the kernels were made for less than sm_90");
    return;
  }
  const auto driver = test::make_test_driver();
  Graph graph = *run_step(*driver, options_of(StepKind::xqa, true)).graph;
  const auto decode =
      std::find_if(graph.nodes.begin(), graph.nodes.end(), [](const Node& node) { return node.op == "xqa_decode"; });
  REQUIRE(decode != graph.nodes.end());
  decode->waits = false;
  const Report report = audit(Subject{{{"step", {graph}, {}, false}}});
  REQUIRE(errors_of(report) == 1);
  const auto found = std::find_if(report.findings().begin(), report.findings().end(),
                                  [](const Finding& finding) { return finding.severity == Severity::error; });
  CHECK(found->rule == "RF309");
  CHECK(found->nodes.back() == static_cast<NodeId>(decode - graph.nodes.begin()));
}

TEST_CASE("pdl: a model's decode reads its plan before it waits and that passes while the plan is two kernels ahead") {
  if (!test::starts_early()) {
    WARN("not tested: nothing starts early, the kernels were made for less than sm_90");
    return;
  }
  const auto driver = test::make_test_driver();
  test::LlamaWorld world(*driver, test::small_llama(Dtype::fp16, 1), test::small_limits());
  world.replay = world.early = true;
  test::Random random(1);
  test::ModelRequest request = world.request(9, random);
  (void)world.prefill({{&request, 9}}, 16, 1);
  REQUIRE(world.graphs.size() == 1);
  Graph graph = world.graphs.front();
  const auto reads_early = [](const Node& node) {
    return std::count_if(node.accesses.begin(), node.accesses.end(),
                         [](const NodeAccess& access) { return access.before_wait; });
  };
  std::size_t found = 0;
  for (const Edge& edge : graph.edges) {
    if (graph.nodes[edge.to].op != "xqa_decode") continue;
    CHECK(edge.kind == EdgeKind::programmatic);
    // lengths, active_partitions, token_to_req, page_table and the cache's settled tokens: all but the query and what
    // the kernel ahead appends.
    CHECK(reads_early(graph.nodes[edge.to]) == 5);
    ++found;
  }
  CHECK(found == 2);  // layers
  CHECK(audit(Subject{{{"step", {graph}, {}, false}}}).findings().empty());

  // The same decode behind a kernel that writes any token: what it takes for settled is not.
  const auto finding_of = [](const Graph& of) {
    const Report report = audit(Subject{{{"step", {of}, {}, false}}});
    const auto at = std::find_if(report.findings().begin(), report.findings().end(),
                                 [](const Finding& finding) { return finding.rule == "RF309"; });
    REQUIRE(at != report.findings().end());
    return *at;
  };
  Graph moved = graph;
  for (Node& node : moved.nodes)
    for (NodeAccess& access : node.accesses)
      if (access.tokens == CacheTokens::appended) access.tokens = CacheTokens::any;
  CHECK_THAT(finding_of(moved).message, Catch::Contains("pool") && Catch::Contains("before it waits"));

  // The same decode right behind its plan: the kernel ahead now writes what it reads.
  const auto node_of = [&](const char* op) {
    return std::find_if(graph.nodes.begin(), graph.nodes.end(), [&](const Node& node) { return node.op == op; });
  };
  const Node plan = *node_of("plan_xqa");
  Node& ahead = *node_of("rope_append");
  ahead.accesses.insert(ahead.accesses.end(), plan.accesses.begin(), plan.accesses.end());
  const Finding early = finding_of(graph);
  CHECK(early.severity == Severity::error);
  CHECK(early.nodes.front() == static_cast<NodeId>(&ahead - graph.nodes.data()));
  CHECK(graph.nodes[early.nodes.back()].op == "xqa_decode");
  CHECK_THAT(early.message, Catch::Contains("lengths") && Catch::Contains("before it waits"));
}
