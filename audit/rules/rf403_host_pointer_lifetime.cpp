// RF403: a copy node, or a callback of the host, names host memory that was
// freed while the graph could still be launched. That the memory is pageable,
// too, is part of the same finding.
#include "audit/rules/checks.hpp"
#include "audit/rules/pointers.hpp"

namespace refrain {

void check_rf403(const SubjectView& view, Report& report) {
  report_pointers(view, report, "RF403", PointerFault::host);
}

}  // namespace refrain
