// RF302: the zeroing comes in time and covers only a part of what must be zero.
#include "audit/rules/checks.hpp"
#include "audit/rules/failed_needs.hpp"

namespace refrain {

void check_rf302(const SubjectView& view, Report& report) {
  report_failed_needs(view, report, "RF302", [](const Failure& failure) {
    return failure.fact == Fact::zeroed && failure.kind == FailureKind::short_;
  });
}

}  // namespace refrain
