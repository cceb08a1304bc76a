// Our own runtime under the auditor: of every step, healthy and with each named bug
// put back, the auditor must find from outside what the runtime finds in its own
// recording, rule by rule and as often. tests/live/own_runtime_test.py asks the same
// of the injected library on a GPU.
#include <map>
#include <string>

#include "audit/audit.hpp"
#include "runtime/run.hpp"
#include "tests/catch.hpp"
#include "tests/cupti/host_auditor.hpp"

using namespace refrain;
using namespace refrain::test;

namespace {

using Found = std::map<std::string, std::uint64_t>;

Found found_by(const Report& report) {
  Found found;
  for (const Finding& finding : report.findings())
    ++found[std::string(to_string(finding.severity)) + " " + finding.rule + " " + finding.where];
  return found;
}

struct Both {
  Found inside, outside;
};

Both run_under_auditor(StepKind step, const Fault* fault, bool deaf = false) {
  HostAuditor driver(deaf);
  RunOptions options;
  options.step.step = step;
  options.step.context = 400;
  options.step.allow_e4m3_mtp = true;
  if (fault != nullptr) options.step.faults.add(*fault);
  const RunResult result = run_step(driver, options);
  const Report report = audit(Subject{{driver.recording()}});
  CHECK(driver.refused() == 0);
  return {found_by(result.audit), found_by(report)};
}

/// Those that a run of the step shows, and are neither refused nor a matter of `verify`.
template <class Use>
void each_fault(Use use) {
  for (const FaultInfo& fault : fault_table())
    for (const StepKind step : kStepKinds)
      if (fits(fault, step) && *fault.rules != '\0') use(fault, step);
}

}  // namespace

TEST_CASE("own runtime: healthy steps are clean from outside as they are in their own recording") {
  for (const StepKind step : kStepKinds) {
    INFO(to_string(step));
    const Both both = run_under_auditor(step, nullptr);
    CHECK(both.inside.empty());
    CHECK(both.outside == both.inside);
  }
}

TEST_CASE("own runtime: every fault that its recording shows is found from outside at the same place") {
  std::size_t faults = 0;
  each_fault([&](const FaultInfo& fault, StepKind step) {
    INFO(fault.name << " on " << to_string(step));
    const Both both = run_under_auditor(step, &fault.fault);
    CHECK_FALSE(both.inside.empty());
    CHECK(both.outside == both.inside);
    ++faults;
  });
  CHECK(faults > 40);
}

TEST_CASE("own runtime: faults that lie in what the runtime says of itself are not found where nobody listens") {
  for (const Fault fault : {Fault::stale_pointer, Fault::reused_address, Fault::input_rebound,
                            Fault::scratch_zero_outside, Fault::workspace_fp16}) {
    INFO(info(fault).name);
    const Both both = run_under_auditor(StepKind::xqa, &fault, true);
    CHECK_FALSE(both.inside.empty());
    CHECK(both.outside.empty());
  }
}
