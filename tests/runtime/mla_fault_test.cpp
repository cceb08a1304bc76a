// The faults of the sparse MLA steps: each is caught by the audit of the graph, by
// replay checks alone, or keeps the graph from being launched, as the table says and
// by nothing else; and what the public reports saw comes back.
#include <algorithm>
#include <set>
#include <sstream>
#include <string>

#include "runtime/run.hpp"
#include "runtime/steps/mla/inputs.hpp"
#include "runtime/verify.hpp"
#include "tests/catch.hpp"
#include "tests/runtime/test_driver.hpp"

using namespace refrain;

namespace {

constexpr StepKind kMlaSteps[] = {StepKind::mla_prefill, StepKind::mla_decode};

StepOptions step_of(StepKind step, std::initializer_list<Fault> faults) {
  StepOptions options;
  options.step = step;
  options.rows = step == StepKind::mla_prefill ? 65 : 8;
  options.context = 300;
  options.heads = 8;
  options.topk = 128;
  for (const Fault fault : faults) options.faults.add(fault);
  return options;
}

RunResult run(const StepOptions& step, Poison poison = Poison::none) {
  const auto driver = test::make_test_driver();
  RunOptions options;
  options.step = step;
  options.poison = poison;
  RunResult result = run_step(*driver, options);
  CHECK(test::holds_nothing(*driver));
  return result;
}

std::set<std::string> errors_of(const Report& report) {
  std::set<std::string> ids;
  for (const Finding& finding : report.findings())
    if (finding.severity == Severity::error) ids.insert(finding.rule);
  return ids;
}

std::set<std::string> split(const char* list) {
  std::set<std::string> ids;
  std::istringstream parts(list);
  for (std::string id; std::getline(parts, id, ',');) ids.insert(id);
  return ids;
}

/// The rows that hold an entry which is not attended, in a part of `width` entries where another one is attended; with
/// `width` the whole list, also rows of nothing else.
std::set<std::int32_t> rows_that_gather(const StepOptions& o, std::int32_t width) {
  const MlaInputs in = make_mla_inputs(o);
  std::set<std::int32_t> rows;
  for (std::int32_t row = 0; row < o.rows; ++row)
    for (std::int32_t begin = 0; begin < o.topk; begin += width) {
      std::int32_t attended = 0;
      for (std::int32_t i = begin; i < begin + width; ++i)
        attended +=
            i < in.lengths[static_cast<std::size_t>(row)] && in.indices[static_cast<std::size_t>(row * o.topk + i)] >= 0
                ? 1
                : 0;
      if (attended < width && (attended > 0 || width == o.topk)) rows.insert(row);
    }
  return rows;
}

}  // namespace

TEST_CASE("mla faults: run gives the audit's errors of the table and no others") {
  for (const FaultInfo& fault : fault_table())
    for (const StepKind step : kMlaSteps) {
      if (!fits(fault, step)) continue;
      INFO(fault.name << " on " << to_string(step));
      const RunResult result = run(step_of(step, {fault.fault}));
      CHECK(errors_of(result.audit) == split(fault.rules));
      CHECK(result.audit.count(Severity::warning) == 0);
      CHECK((*fault.rules != '\0' || *fault.verify != '\0'));
    }
}

TEST_CASE("mla faults: verify gives the errors of the table and those of its replay checks") {
  for (const FaultInfo& fault : fault_table())
    for (const StepKind step : kMlaSteps) {
      if (!fits(fault, step)) continue;
      INFO(fault.name << " on " << to_string(step));
      const auto driver = test::make_test_driver();
      const VerifyResult result = verify_step(*driver, step_of(step, {fault.fault}));
      CHECK(test::holds_nothing(*driver));
      std::set<std::string> expected = split(fault.rules);
      expected.merge(split(fault.verify));
      CHECK(errors_of(result.report) == expected);
      CHECK(result.exit_code() == 1);
    }
}

TEST_CASE("mla faults: without any the audit is clean and the rules of the split and the merge were checked") {
  for (const StepKind step : kMlaSteps) {
    const RunResult result = run(step_of(step, {}));
    CHECK(result.audit.findings().empty());
    for (const char* rule : {"RF204", "RF206", "RF301", "RF302", "RF306", "RF307", "RF308", "RF310", "RF408"}) {
      INFO(rule);
      CHECK(result.audit.was_checked(rule));
    }
  }
}

TEST_CASE("mla faults: a graph that reaches outside its buffers or into freed ones is not launched") {
  for (const StepKind step : kMlaSteps)
    for (const Fault fault : {Fault::split_int32_offsets, Fault::split_grown}) {
      const RunResult result = run(step_of(step, {fault}));
      CHECK(result.graph);
      CHECK_FALSE(result.replay);
      CHECK(result.refused.find(info(fault).rules) != std::string::npos);
      CHECK(verify_step(*test::make_test_driver(), step_of(step, {fault})).axes.empty());
    }
}

TEST_CASE("mla faults: slot 0 of an unzeroed scratch makes NaN of every prefill row that gathers it and no other") {
  const StepOptions options = step_of(StepKind::mla_prefill, {Fault::mla_clamp_slot0, Fault::split_zero_page0_off});
  const RunResult result = run(options, Poison::all);
  CHECK(errors_of(result.audit) == std::set<std::string>{"RF301"});
  const std::set<std::int32_t> rows(result.replay->nan.rows.begin(), result.replay->nan.rows.end());
  CHECK(rows == rows_that_gather(result.options.step, 128));
  CHECK(rows.size() > 32);
  CHECK(rows.size() < 65);
  // Zeroed in every replay, slot 0 is harmless even to a kernel that gathers it.
  StepOptions zeroed = step_of(StepKind::mla_prefill, {Fault::mla_clamp_slot0});
  zeroed.page_size = 256;
  CHECK(run(zeroed, Poison::all).replay->nan.count == 0);
}

TEST_CASE("mla faults: in the decode slot 0 reaches the rows that gather it in a split with entries") {
  const StepOptions options = step_of(StepKind::mla_decode, {Fault::mla_clamp_slot0, Fault::split_zero_page0_off});
  const RunResult result = run(options, Poison::all);
  const std::set<std::int32_t> rows(result.replay->nan.rows.begin(), result.replay->nan.rows.end());
  CHECK(rows == rows_that_gather(result.options.step, 64));
  CHECK_FALSE(rows.empty());
}

TEST_CASE("mla faults: a leading masked chunk and an empty row are NaN where the max starts at minus infinity") {
  const RunResult result = run(step_of(StepKind::mla_prefill, {Fault::mla_neg_inf_max}));
  std::vector<std::int32_t> expected;
  for (std::int32_t row = 2; row < 64; row += 5) expected.push_back(row);
  expected.push_back(64);
  CHECK(result.replay->nan.rows == expected);
}

TEST_CASE("mla faults: verify names the op that wrote the first NaN") {
  const auto first = [](StepKind step, Fault fault) {
    return verify_step(*test::make_test_driver(), step_of(step, {fault})).first_nan_name;
  };
  CHECK(first(StepKind::mla_prefill, Fault::mla_clamp_slot0).find("(sparse_mla_prefill)") != std::string::npos);
  CHECK(first(StepKind::mla_decode, Fault::mla_clamp_slot0).find("(sparse_mla_decode)") != std::string::npos);
  CHECK(first(StepKind::mla_decode, Fault::merge_empty_by_value).find("(merge_mla)") != std::string::npos);
}
