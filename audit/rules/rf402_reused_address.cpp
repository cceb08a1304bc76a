// RF402: a node's pointer leads into a buffer that was freed, and another
// allocation lives at that address now: no fault at replay, only wrong numbers.
#include "audit/rules/checks.hpp"
#include "audit/rules/pointers.hpp"

namespace refrain {

void check_rf402(const SubjectView& view, Report& report) {
  report_pointers(view, report, "RF402", PointerFault::reused);
}

}  // namespace refrain
