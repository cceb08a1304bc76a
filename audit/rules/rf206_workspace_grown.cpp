// RF206: a workspace, scratch or plan grew after the capture: the old memory was
// freed, and the graph still names it. Rules 401 and 402 leave such a buffer to
// this one.
#include "audit/rules/checks.hpp"
#include "audit/rules/pointers.hpp"

namespace refrain {

void check_rf206(const SubjectView& view, Report& report) {
  report_pointers(view, report, "RF206", PointerFault::grown);
}

}  // namespace refrain
