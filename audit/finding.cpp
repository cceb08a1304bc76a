#include "audit/finding.hpp"

namespace refrain {

const char* to_string(Severity severity) noexcept {
  switch (severity) {
    case Severity::note: return "note";
    case Severity::warning: return "warning";
    case Severity::error: return "error";
  }
  return "unknown";
}

const char* to_string(Standing standing) noexcept {
  switch (standing) {
    case Standing::open: return "open";
    case Standing::known: return "known";
    case Standing::suppressed: return "suppressed";
  }
  return "unknown";
}

}  // namespace refrain
