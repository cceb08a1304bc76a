// RF306: a node reads bytes that nothing has written before it, or that must be
// finite and are not known to be.
#include "audit/rules/checks.hpp"
#include "audit/rules/failed_needs.hpp"

namespace refrain {

void check_rf306(const SubjectView& view, Report& report) {
  report_failed_needs(view, report, "RF306", [](const Failure& failure) {
    return failure.fact == Fact::written || failure.fact == Fact::finite;
  });
}

}  // namespace refrain
