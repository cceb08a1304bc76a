// RF401: a node's pointer leads into a buffer that was freed after the capture.
#include "audit/rules/checks.hpp"
#include "audit/rules/pointers.hpp"

namespace refrain {

void check_rf401(const SubjectView& view, Report& report) {
  report_pointers(view, report, "RF401", PointerFault::stale);
}

}  // namespace refrain
