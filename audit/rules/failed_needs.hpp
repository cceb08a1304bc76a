// From the causes that the facts analysis found to findings: what rules 301 to
// 306 share. Each of them names the failures that it reports; here a cause is put
// into words.
#pragma once

#include <string_view>

#include "audit/report.hpp"
#include "audit/subject.hpp"

namespace refrain {

/// Reports every cause whose lead is `mine`. A failure that a node without a contract may have prevented is no
/// finding: it goes to what was not checked. Nor is one that another rule reports `elsewhere`; null: none is.
void report_failed_needs(const SubjectView& view, Report& report, std::string_view rule, bool (*mine)(const Failure&),
                         bool (*elsewhere)(const GraphView&, const Failure&) = nullptr);

}  // namespace refrain
