// RF106: calls in a step that no one would call a sync, and that make the device
// or all its blocking streams wait: allocations and frees, pinning, limits, and
// fills on the legacy stream.
#include <fmt/format.h>

#include "audit/rules/checks.hpp"
#include "audit/rules/step_tally.hpp"

namespace refrain {
namespace {

enum class Kind : std::uint8_t { none, device_memory, host_memory, limit, legacy_fill };

Kind kind_of(const ApiEvent& call) {
  if (call.code != 0) return Kind::none;
  switch (call.api) {
    case Api::malloc:
    case Api::free:
    case Api::malloc_managed: return Kind::device_memory;
    case Api::malloc_host:
    case Api::free_host:
    case Api::host_register: return Kind::host_memory;
    case Api::device_set_limit: return Kind::limit;
    case Api::memset:
    case Api::memset_async:
      return call.stream == 0 && call.target != Target::per_thread ? Kind::legacy_fill : Kind::none;
    default: return Kind::none;
  }
}

const char* fix_of(Kind kind) {
  switch (kind) {
    case Kind::device_memory:
      return "allocate before the first step and keep the memory, or take it from a pool with cudaMallocAsync and "
             "cudaFreeAsync";
    case Kind::host_memory: return "pin the host memory once, when the program starts, and use it again in every step";
    case Kind::limit: return "set the limit once, before the first step";
    default: return "fill with cudaMemsetAsync on the step's own non-blocking stream";
  }
}

}  // namespace

void check_rf106(const SubjectView& view, Report& report) {
  for (const Recording* recording : recordings_with_steps(view, report, "RF106")) {
    const auto steps = steps_of(recording->timeline);
    StepTally tally(recording->timeline, steps.size());
    for (const StepCalls& step : steps)
      for (const ApiEvent* call : step.calls)
        if (kind_of(*call) != Kind::none) tally.add(step, *call);
    tally.each([&](const StepCost& cost) {
      const Kind kind = kind_of(*cost.first);
      Finding finding = tally.finding("RF106", cost);
      finding.message =
          fmt::format("{} ran {}: it is no sync by name, and {}", to_string(cost.first->api), tally.how_often(cost),
                      kind == Kind::legacy_fill
                          ? "on the legacy stream it waits for every blocking stream and makes them wait for it"
                          : "the driver may wait for all work on the device before it returns");
      finding.fix = fix_of(kind);
      report.add(std::move(finding), tally.names(cost));
    });
  }
}

}  // namespace refrain
