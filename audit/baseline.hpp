// Findings of an earlier run, by fingerprint: they are known and do not count,
// so that a pipeline fails on what is new. A fingerprint that stood there twice
// covers two findings, not all. What had been suppressed then is not known now:
// a suppression ends by its own date.
#pragma once

#include <cstddef>
#include <map>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "audit/report.hpp"

namespace refrain {

class Baseline {
 public:
  /// `root`: a `refrain.audit/1` report, as `--format json` and `--write-baseline` make it. Throws Error{input}.
  Baseline(const nlohmann::json& root, std::string file);

  /// Open findings that stood there become known; a remark says how many of the baseline were not found again.
  void apply(Report& report) const;

 private:
  std::string file_;
  std::map<std::string, std::size_t> counts_;
};

}  // namespace refrain
