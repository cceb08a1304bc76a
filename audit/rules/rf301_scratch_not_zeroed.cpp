// RF301: a scratch that must be zero is not, because no node of the graph zeroes it in
// time, or something writes over it afterwards. Zeroing it once, before the first
// replay, does not count: the second replay finds what the first one left.
#include "audit/rules/checks.hpp"
#include "audit/rules/failed_needs.hpp"

namespace refrain {

void check_rf301(const SubjectView& view, Report& report) {
  report_failed_needs(view, report, "RF301", [](const Failure& failure) {
    return failure.fact == Fact::zeroed &&
           (failure.kind == FailureKind::missing || failure.kind == FailureKind::destroyed ||
            failure.kind == FailureKind::entry_lost);
  });
}

}  // namespace refrain
