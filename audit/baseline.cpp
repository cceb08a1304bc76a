#include "audit/baseline.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "graphs/json_view.hpp"

namespace refrain {
namespace {

constexpr const char* kAdvice = "write the file with refrain audit --write-baseline";

}  // namespace

Baseline::Baseline(const nlohmann::json& root, std::string file) : file_(std::move(file)) {
  const JsonView view(root, file_);
  if (!root.is_object()) view.fail("a report of refrain audit", kAdvice);
  const JsonView schema = view.need("schema");
  if (schema.text() != "refrain.audit/1") schema.fail("\"refrain.audit/1\"", kAdvice);
  const JsonView findings = view.need("findings");
  for (std::size_t i = 0; i < findings.array_size(); ++i) {
    const JsonView finding = findings.at(i);
    if (!root["findings"][i].is_object()) finding.fail("a finding as an object", kAdvice);
    const std::string& fingerprint = finding.need("fingerprint").text();
    const auto standing = finding.find("standing");
    if (!standing || standing->text() != to_string(Standing::suppressed)) ++counts_[fingerprint];
  }
}

void Baseline::apply(Report& report) const {
  std::map<std::string, std::size_t> left = counts_;
  report.has_baseline = true;
  for (std::size_t i = 0; i < report.findings().size(); ++i) {
    const Finding& finding = report.findings()[i];
    const auto at = left.find(finding.fingerprint);
    if (at == left.end() || at->second == 0) continue;
    --at->second;
    if (finding.standing == Standing::open) report.excuse(i, Standing::known, "");
  }
  std::size_t gone = 0;
  for (const auto& [fingerprint, count] : left) gone += count;
  if (gone > 0)
    report.remarks.push_back(fmt::format("{} of the findings in {} {} not found again: write the baseline anew", gone,
                                         file_, gone == 1 ? "was" : "were"));
}

}  // namespace refrain
