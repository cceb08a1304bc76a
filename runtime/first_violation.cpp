#include "runtime/first_violation.hpp"

#include <fmt/format.h>

#include "audit/captures.hpp"
#include "runtime/status.hpp"

namespace refrain {

std::string first_violation(const Recording& recording, const Error& failure) {
  const std::vector<CaptureWindow> captures = captures_of(recording.timeline);
  if (captures.empty() || captures.back().violation == nullptr) return failure.what();
  const ApiEvent& call = *captures.back().violation;
  return fmt::format("{} on thread {}: {}", to_string(call.api), call.thread,
                     to_string(static_cast<Status>(call.code)));
}

std::string first_violation(const Report& report) {
  for (const Finding& finding : report.findings())
    if (finding.severity == Severity::error) return fmt::format("{} {}, {}", finding.rule, finding.name, finding.where);
  return {};
}

}  // namespace refrain
