// Pointers of a graph that lead into memory which was freed: what rules 401 and
// 402 share. The first reports those that lead nowhere now, the second those that
// lead into another allocation at the same address.
#pragma once

#include <string_view>

#include "audit/report.hpp"
#include "audit/subject.hpp"

namespace refrain {

enum class PointerFault : std::uint8_t { stale, reused };

void report_pointers(const SubjectView& view, Report& report, std::string_view rule, PointerFault fault);

}  // namespace refrain
