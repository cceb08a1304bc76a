// RF303: the zeroing is in the graph, but no path makes the consumer wait for it.
#include "audit/rules/checks.hpp"
#include "audit/rules/failed_needs.hpp"

namespace refrain {

void check_rf303(const SubjectView& view, Report& report) {
  report_failed_needs(view, report, "RF303", [](const Failure& failure) {
    return failure.fact == Fact::zeroed && failure.kind == FailureKind::unordered;
  });
}

}  // namespace refrain
