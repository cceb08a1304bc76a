// RF304: a consumer of padded indices runs with padding that still names the null
// block, on all or a part of the range.
#include "audit/rules/checks.hpp"
#include "audit/rules/failed_needs.hpp"

namespace refrain {

void check_rf304(const SubjectView& view, Report& report) {
  report_failed_needs(view, report, "RF304", [](const Failure& failure) {
    return failure.fact == Fact::pad_fixed && failure.kind != FailureKind::unordered;
  });
}

}  // namespace refrain
