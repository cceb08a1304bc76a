#include "audit/rules/step_tally.hpp"

#include <fmt/format.h>

#include <tuple>

#include "audit/rules/words.hpp"

namespace refrain {

void StepTally::add(const StepCalls& step, const ApiEvent& call, std::uint64_t ns, const ApiEvent* as) {
  if (as == nullptr) as = &call;
  Row& row = rows_[{as->api, as->detail}];
  if (row.current != &step) {
    close(row);
    row.current = &step;
    row.current_call = &call;
    ++row.cost.steps;
  }
  if (row.cost.first == nullptr) row.cost.first = as;
  ++row.cost.count;
  row.cost.total_ns += ns;
  ++row.count;
  row.ns += ns;
}

void StepTally::close(Row& row) {
  StepCost& cost = row.cost;
  if (row.current != nullptr && std::tie(cost.worst_ns, cost.worst_count) < std::tie(row.ns, row.count)) {
    cost.worst = row.current;
    cost.worst_call = row.current_call;
    cost.worst_ns = row.ns;
    cost.worst_count = row.count;
  }
  row.current = nullptr;
  row.count = row.ns = 0;
}

Finding StepTally::finding(std::string_view rule, const StepCost& cost) const {
  Finding finding = new_finding(rule, step_certainty(timeline_));
  const std::string worst = describe_step(timeline_, *cost.worst, all_steps_);
  finding.count = cost.count;
  finding.call = cost.worst_call->sequence;
  finding.step = cost.worst->number;
  finding.where = fmt::format("{}, {} on stream {}", worst, to_string(cost.first->api), cost.first->stream);
  if (const std::string& detail = timeline_.text(cost.first->detail); !detail.empty())
    finding.evidence.push_back(fmt::format("made in {}", detail));
  if (const RangeEvent* range = innermost_range(timeline_, *cost.worst_call))
    finding.evidence.push_back(fmt::format("inside the range \"{}\" there", timeline_.text(range->name)));
  finding.evidence.push_back(cost.total_ns == 0
                                 ? std::string("the input gives no duration for these calls")
                                 : fmt::format("host time lost: {:.1f} us in all, {:.1f} us in the worst, {}",
                                               static_cast<double>(cost.total_ns) / 1e3,
                                               static_cast<double>(cost.worst_ns) / 1e3, worst));
  return finding;
}

std::string StepTally::how_often(const StepCost& cost) const {
  return fmt::format("{} in {} of {} step{}", cost.count == 1 ? "once" : fmt::format("{} times", cost.count),
                     cost.steps, all_steps_, all_steps_ == 1 ? "" : "s");
}

std::vector<std::string> StepTally::names(const StepCost& cost) const {
  return {to_string(cost.first->api), timeline_.text(cost.first->detail)};
}

}  // namespace refrain
