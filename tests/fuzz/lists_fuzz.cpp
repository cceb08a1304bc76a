// The two files beside an audit: suppressions and a baseline. Either is read as
// both, through the JSON reader that the program uses, and applied to a report.
#include <nlohmann/json.hpp>

#include "audit/baseline.hpp"
#include "audit/suppressions.hpp"
#include "runtime/scales/json_text.hpp"
#include "tests/fuzz/fuzz_support.hpp"

using namespace refrain;

namespace {

Report two_findings() {
  Report report;
  report.inputs = {"input"};
  for (const char* rule : {"RF202", "RF301"}) {
    Finding finding;
    finding.rule = rule;
    finding.where = "step decode, node 3";
    finding.message = "a message";
    report.add(finding, {});
  }
  return report;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::allow_refusal([&] {
    const nlohmann::json root = parse_json(fuzz::text_of(data, size), "input");
    fuzz::allow_refusal([&] {
      Report report = two_findings();
      apply_suppressions(report, read_suppressions(root, "input"), "2026-11-30", "input");
      (void)report_json(report);
      (void)report_text(report);
    });
    Report report = two_findings();
    Baseline(root, "input").apply(report);
    (void)report_json(report);
    (void)report_text(report);
    fuzz::reached();
  });
  return 0;
}
