// What an audit found and what it could not look at. It collects; it does not
// judge. A finding gets its name and severity from the rule table, and its
// fingerprint here; a reason for not checking stands once however often it is
// given. Nothing that could not be checked ever counts as clean.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "audit/finding.hpp"

namespace refrain {

/// What decides the exit code.
struct Threshold {
  Severity fail_on = Severity::error;
  std::vector<std::string> require;  ///< rule ids that must have been checked
};

class Report {
 public:
  /// `names`: of the ops, nodes and buffers that make this finding the same one in the next run. An address or a
  /// number that changes between runs must not stand there.
  void add(Finding finding, std::span<const std::string> names);
  void not_checked(std::string_view rule, std::string reason);

  [[nodiscard]] const std::vector<Finding>& findings() const& noexcept { return findings_; }
  /// Of a report that is about to go: a loop over `audit(subject).findings()` must not outlive it.
  [[nodiscard]] std::vector<Finding> findings() && { return std::move(findings_); }
  /// In rule order, as the rules run.
  [[nodiscard]] const std::vector<NotChecked>& not_checked() const noexcept { return not_checked_; }
  [[nodiscard]] bool was_checked(std::string_view rule) const;

  /// Takes another input's report in. Fingerprints stay as they are: they do not depend on what else was audited.
  void merge(Report other);
  /// Says that a finding does not count, and why.
  void excuse(std::size_t finding, Standing standing, std::string reason);

  /// Of the open findings; what is known or suppressed counts below.
  [[nodiscard]] std::size_t count(Severity severity) const;
  [[nodiscard]] std::size_t count(Standing standing) const;
  /// Of the open findings: 0 clean; 1 a finding at or over the threshold (it wins over 3); 3 a required rule could not
  /// be checked, or the only findings at or over the threshold are of group 8: the input could not show what it should.
  [[nodiscard]] int exit_code(const Threshold& threshold = {}) const;

  std::vector<std::string> inputs;   ///< set before findings are added: a single one is theirs
  std::vector<std::string> remarks;  ///< of the baseline and the suppressions: what expired, what matched nothing
  bool has_baseline = false;
  std::uint64_t nodes = 0;          ///< in all graphs and bodies
  std::uint64_t unknown_nodes = 0;  ///< of these, with an effect on memory that no contract states

 private:
  std::vector<Finding> findings_;
  std::vector<NotChecked> not_checked_;
  std::unordered_map<std::string, std::size_t> turns_;  // of findings whose names are the same
};

/// For a terminal or a log: findings by group of rules, what does not count, what was not checked, one last line that
/// sums up. Ends in a newline. Names are shown so that none can move a terminal's cursor.
[[nodiscard]] std::string report_text(const Report& report, bool colour = false);

/// `refrain.audit/1`, pretty-printed, ending in a newline.
[[nodiscard]] std::string report_json(const Report& report, const Threshold& threshold = {});

/// Ids of `required` that no rule has: a mistake of the command line.
[[nodiscard]] std::vector<std::string> unknown_rules(std::span<const std::string> required);

}  // namespace refrain
