#include "audit/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <iterator>

#include "audit/rules.hpp"

namespace refrain {
namespace {

// FNV-1a, 64 bits: names end in a zero byte, so that "ab","c" and "a","bc" differ.
std::uint64_t mix(std::uint64_t hash, std::string_view name) {
  const auto step = [&](unsigned char byte) { hash = (hash ^ byte) * 0x100000001b3ULL; };
  for (const char c : name) step(static_cast<unsigned char>(c));
  step(0);
  return hash;
}

std::string fingerprint_of(const Finding& finding, std::span<const std::string> names) {
  std::uint64_t hash = mix(mix(0xcbf29ce484222325ULL, finding.rule), finding.graph);
  for (const std::string& name : names) hash = mix(hash, name);
  return fmt::format("{:016x}", hash);
}

}  // namespace

void Report::add(Finding finding, std::span<const std::string> names) {
  const Rule* rule = find_rule(finding.rule);
  assert(rule != nullptr && "a rule reports under an id that the table does not have");
  finding.name = rule->name;
  if (inputs.size() == 1) finding.input = inputs.front();
  finding.fingerprint = fingerprint_of(finding, names);
  // Two layers may break the same rule in the same words: the second is told apart by its turn.
  if (const std::size_t turn = turns_[finding.fingerprint]++; turn > 0)
    finding.fingerprint = fmt::format("{:016x}", mix(mix(0, finding.fingerprint), std::to_string(turn)));
  findings_.push_back(std::move(finding));
}

void Report::not_checked(std::string_view rule, std::string reason) {
  const auto same = [&](const NotChecked& other) { return other.rule == rule && other.reason == reason; };
  if (std::none_of(not_checked_.begin(), not_checked_.end(), same))
    not_checked_.push_back({std::string(rule), std::move(reason), inputs.size() == 1 ? inputs.front() : std::string()});
}

void Report::merge(Report other) {
  const auto append = [](auto& to, auto& from) {
    to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
  };
  append(findings_, other.findings_);
  append(not_checked_, other.not_checked_);
  append(inputs, other.inputs);
  append(remarks, other.remarks);
  nodes += other.nodes;
  unknown_nodes += other.unknown_nodes;
}

void Report::excuse(std::size_t finding, Standing standing, std::string reason) {
  findings_.at(finding).standing = standing;
  findings_.at(finding).excuse = std::move(reason);
}

bool Report::was_checked(std::string_view rule) const {
  return std::none_of(not_checked_.begin(), not_checked_.end(),
                      [&](const NotChecked& other) { return other.rule == rule; });
}

std::size_t Report::count(Severity severity) const {
  return static_cast<std::size_t>(std::count_if(findings_.begin(), findings_.end(), [&](const Finding& f) {
    return f.severity == severity && f.standing == Standing::open;
  }));
}

std::size_t Report::count(Standing standing) const {
  return static_cast<std::size_t>(
      std::count_if(findings_.begin(), findings_.end(), [&](const Finding& f) { return f.standing == standing; }));
}

int Report::exit_code(const Threshold& threshold) const {
  bool hidden = false;
  for (const Finding& finding : findings_) {
    if (finding.standing != Standing::open || finding.severity < threshold.fail_on) continue;
    if (!finding.rule.starts_with("RF8")) return 1;
    hidden = true;
  }
  const auto open = [&](const std::string& rule) { return !was_checked(rule); };
  return hidden || std::any_of(threshold.require.begin(), threshold.require.end(), open) ? 3 : 0;
}

std::vector<std::string> unknown_rules(std::span<const std::string> required) {
  std::vector<std::string> unknown;
  for (const std::string& id : required)
    if (find_rule(id) == nullptr) unknown.push_back(id);
  return unknown;
}

}  // namespace refrain
