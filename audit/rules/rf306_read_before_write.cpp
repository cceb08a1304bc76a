// RF306: a node reads bytes that nothing has written before it, or that lost their
// memory since, or that must be finite and are not known to be. Padded rows of outputs and inputs are left to
// rules 308 and 311.
#include "audit/rules/checks.hpp"
#include "audit/rules/failed_needs.hpp"
#include "audit/rules/lost_contents.hpp"
#include "audit/rules/padding.hpp"

namespace refrain {

void check_rf306(const SubjectView& view, Report& report) {
  const auto mine = [](const Failure& failure) {
    return failure.fact == Fact::written || failure.fact == Fact::finite;
  };
  report_failed_needs(view, report, "RF306", mine, is_padding_fault);
  report_lost_contents(view, report, "RF306");
}

}  // namespace refrain
