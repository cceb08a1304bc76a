// The replay checks of a timeline, by graph: what rules 901 to 904 share. A check
// is one replay that was compared with another run; these rules only say what the
// comparison found.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "audit/report.hpp"
#include "audit/subject.hpp"

namespace refrain {

using ChecksByGraph = std::map<std::string, std::vector<const ReplayCheck*>>;

/// The checks of one recording that `failed` picks, by the graph's name.
[[nodiscard]] ChecksByGraph checks_of(const Recording& recording, bool (*failed)(const ReplayCheck&));

/// False, with the reason reported, when no input holds a check of the kind.
[[nodiscard]] bool has_checks(const SubjectView& view, Report& report, std::string_view rule, CheckKind kind);

/// A finding on the graph of that name, as an input names it.
[[nodiscard]] Finding new_check_finding(std::string_view rule, const std::string& graph);

/// `the output is not finite`, or `the output differs by up to 0.5`
[[nodiscard]] std::string outcome(const ReplayCheck& check);

}  // namespace refrain
