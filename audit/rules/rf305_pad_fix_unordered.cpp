// RF305: the pad-fix is in the graph, in parallel to its consumer or after it.
#include "audit/rules/checks.hpp"
#include "audit/rules/failed_needs.hpp"

namespace refrain {

void check_rf305(const SubjectView& view, Report& report) {
  report_failed_needs(view, report, "RF305", [](const Failure& failure) {
    return failure.fact == Fact::pad_fixed && failure.kind == FailureKind::unordered;
  });
}

}  // namespace refrain
