// The catalogue: one table of every rule that this version checks, in the order
// in which they run. A rule is a free function in a file of its own (rules/) that
// looks at the subject and adds findings, or says why it could not look. Ids are
// never used for anything else again.
#pragma once

#include <span>
#include <string_view>

#include "audit/report.hpp"
#include "audit/subject.hpp"

namespace refrain {

struct Rule {
  const char* id;           ///< `RF301`
  const char* name;         ///< `scratch-not-zeroed`
  const char* summary;      ///< one sentence: what must not be
  Severity severity;        ///< of its findings, unless the finding knows better
  const char* evidence;     ///< what an input must hold for the rule to be checked
  const char* explanation;  ///< what happens when it is broken, and how the rule decides
  const char* fix;          ///< how to mend it in general
  void (*check)(const SubjectView&, Report&);
};

[[nodiscard]] std::span<const Rule> rules();

/// Null when no rule has the id.
[[nodiscard]] const Rule* find_rule(std::string_view id);

}  // namespace refrain
