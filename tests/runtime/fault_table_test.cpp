// The fault table, run: every named bug on every step that it fits must be caught
// by exactly the rules that the table gives, and do what the report says it does.
#include <algorithm>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "runtime/run.hpp"
#include "tests/catch.hpp"
#include "tests/runtime/test_driver.hpp"

using namespace refrain;

namespace {

RunResult run_with(StepKind step, std::initializer_list<Fault> faults, std::int32_t context = 400) {
  const auto driver = test::make_test_driver();
  RunOptions options;
  options.step.step = step;
  options.step.context = context;
  options.poison = step == StepKind::grouped ? Poison::null_block : Poison::none;
  for (const Fault fault : faults) options.step.faults.add(fault);
  RunResult result = run_step(*driver, options);
  CHECK(test::holds_nothing(*driver));
  return result;
}

std::set<std::string> errors_of(const RunResult& result) {
  std::set<std::string> ids;
  for (const Finding& finding : result.audit.findings())
    if (finding.severity == Severity::error) ids.insert(finding.rule);
  return ids;
}

/// `plan_grouped gives pad_fixed`
std::string words_of(const Node& node) {
  std::string words = node.op;
  for (const NodeClaim& claim : node.gives) words.append(" gives ").append(to_string(claim.fact));
  return words;
}

std::set<std::string> expected_of(const FaultInfo& fault) {
  std::set<std::string> ids;
  std::istringstream rules(fault.rules);
  for (std::string id; std::getline(rules, id, ',');) ids.insert(id);
  return ids;
}

}  // namespace

TEST_CASE("faults: the audit's errors for each fault are exactly those of the table") {
  for (const FaultInfo& fault : fault_table())
    for (const StepKind step : {StepKind::grouped, StepKind::xqa}) {
      if (!fits(fault, step)) continue;
      INFO(fault.name << " on " << to_string(step));
      const RunResult result = run_with(step, {fault.fault});
      CHECK(errors_of(result) == expected_of(fault));
      CHECK(result.audit.count(Severity::warning) == 0);
    }
}

TEST_CASE("faults: without any, the audit is clean and every rule of groups 2 and 3 was checked") {
  for (const StepKind step : {StepKind::grouped, StepKind::xqa}) {
    const RunResult result = run_with(step, {});
    CHECK(result.audit.findings().empty());
    for (const char* rule : {"RF101", "RF103", "RF204", "RF205", "RF301", "RF302", "RF304", "RF306", "RF307"}) {
      INFO(rule);
      CHECK(result.audit.was_checked(rule));
    }
    CHECK(result.exit_code() == 0);
  }
}

TEST_CASE("faults: both protections off is one finding, and either alone leaves no NaN") {
  const RunResult both = run_with(StepKind::grouped, {Fault::kernel_zero_off, Fault::pad_fix_off}, 2048);
  CHECK(errors_of(both) == std::set<std::string>{"RF304"});
  CHECK(both.audit.findings().size() == 1);
  CHECK(both.replay->nan.count == 480);
  for (const Fault one : {Fault::kernel_zero_off, Fault::pad_fix_off})
    CHECK(run_with(StepKind::grouped, {one}, 2048).replay->nan.count == 0);
}

TEST_CASE(
    "faults: the planner fixes padding in place, and a fault about that has pad_fix as a node of its own or none") {
  using Names = std::vector<std::string>;
  const bool on_gpu = test::make_test_driver()->device().kind == "cuda";
  const auto nodes = [on_gpu](std::initializer_list<Fault> faults) {
    Names names;
    const RunResult result = run_with(StepKind::grouped, faults);
    for (const Node& node : result.graph->nodes) {
      // On a GPU the planner of slots is two kernels, and the last one gives what it gives.
      if (node.op == "plan_xqa" && on_gpu && names.back() == "plan_xqa") names.pop_back();
      names.push_back(words_of(node));
    }
    return names;
  };
  const std::string attends = "grouped_attention", rest = "plan_xqa gives zeroed";
  const Names fixed = {"kv_append", "plan_grouped gives pad_fixed", attends, rest, "xqa_decode"};
  const Names unfixed = {"kv_append", "plan_grouped", attends, rest, "xqa_decode"};
  CHECK(nodes({}) == fixed);
  CHECK(nodes({Fault::kernel_zero_off}) == fixed);
  CHECK(nodes({Fault::pad_fix_off}) == unfixed);
  CHECK(nodes({Fault::pad_fix_outside}) == unfixed);
  CHECK(nodes({Fault::pad_fix_late}) ==
        Names{"kv_append", "plan_grouped", attends, "pad_fix gives pad_fixed", rest, "xqa_decode"});
}

TEST_CASE("faults: padding fixed outside the graph or after its consumer leaks at every replay") {
  for (const Fault fault : {Fault::pad_fix_outside, Fault::pad_fix_late}) {
    const RunResult result = run_with(StepKind::grouped, {fault}, 2048);
    CHECK(result.replay->nan.count == 480);
    CHECK(result.exit_code() == 1);
  }
}

TEST_CASE("faults: split counters that no replay zeroes turn later replays into NaN, not into plausible numbers") {
  for (const Fault fault : {Fault::scratch_zero_outside, Fault::scratch_zero_short}) {
    const RunResult result = run_with(StepKind::xqa, {fault});
    CHECK(result.replay->nan.count > 0);
  }
}

TEST_CASE("faults: a failed capture leaves no graph and no replay, and names the first violation") {
  const RunResult result = run_with(StepKind::xqa, {Fault::host_sync});
  CHECK_FALSE(result.graph);
  CHECK_FALSE(result.replay);
  CHECK(result.refused.find("cudaStreamSynchronize") != std::string::npos);
  CHECK(result.exit_code() == 1);
}

TEST_CASE("faults: names are unique and every fault fits a step") {
  std::set<std::string> names;
  for (const FaultInfo& fault : fault_table()) {
    CHECK(names.insert(fault.name).second);
    const auto fits_it = [&](StepKind step) { return fits(fault, step); };
    CHECK(std::any_of(std::begin(kStepKinds), std::end(kStepKinds), fits_it));
    CHECK(find_fault(fault.name) == &fault);
  }
  CHECK(find_fault("no-such-fault") == nullptr);
}
