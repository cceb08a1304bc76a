// `refrain.review/1`.
#include "audit/reports/finding_json.hpp"
#include "audit/review/json_parts.hpp"

namespace refrain {

using Json = nlohmann::ordered_json;

namespace {

Json known(const std::optional<std::uint64_t>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json step_json(const Review& review, std::size_t i) {
  const StepStats& step = review.steps[i];
  Json json = {{"index", i + 1},
               {"name", review.timeline().text(step.name)},
               {"thread", step.thread},
               {"start_ns", step.start_ns},
               {"end_ns", step.end_ns}};
  json.update(figures_json(step));
  return json;
}

}  // namespace

Json figures_json(const StepStats& stats) {
  Json copies = Json::object();
  for (std::size_t c = 0; c < kCopyClasses; ++c) {
    std::string name = to_string(static_cast<CopyClass>(c));
    if (const std::size_t blank = name.find(' '); blank != std::string::npos) name[blank] = '_';
    copies[name] = {{"count", stats.copies[c].count}, {"bytes", stats.copies[c].bytes}};
  }
  return {{"replays", stats.replays},
          {"replayed_nodes", stats.replayed_nodes},
          {"captured_nodes", known(stats.captured_nodes)},
          {"eager_launches", stats.eager_launches},
          {"syncs", stats.syncs},
          {"host_wait_ns", stats.host_wait_ns},
          {"queries", stats.queries},
          {"copies", std::move(copies)},
          {"replayed_copies", stats.replayed_copies},
          {"instantiations", stats.instantiations},
          {"updates", stats.updates},
          {"module_loads", stats.module_loads},
          {"allocations", stats.allocations},
          {"frees", stats.frees},
          {"gpu_busy_ns", known(stats.gpu_busy_ns)},
          {"gpu_idle_ns", known(stats.gpu_idle_ns)},
          {"launch_gap_ns", known(stats.launch_gap_ns)},
          {"between_replays_ns", known(stats.between_replays_ns)},
          {"rows", known(stats.rows)},
          {"real_rows", known(stats.real_rows)}};
}

Json basis_json(const StepCut& cut) {
  return {{"basis", to_string(cut.basis)}, {"guessed", is_guessed(cut.basis)}, {"why", cut.why}};
}

Json totals_json(const StepTotals& totals) {
  Json json = {{"steps", totals.steps}, {"host_ns", totals.host_ns}};
  if (totals.steps > 0) json["worst"] = totals.worst + 1;
  json.update(figures_json(totals.sum));
  json["steps_with"] = {{"device_time", totals.with_device_time},
                        {"launch_gap", totals.with_launch_gap},
                        {"between_replays", totals.with_time_between},
                        {"captured_nodes", totals.with_captured_nodes},
                        {"rows", totals.with_rows},
                        {"real_rows", totals.with_real_rows}};
  return json;
}

Json kind_json(const StepKindRow& row) {
  Json json = {{"median_host_ns", row.median_host_ns},
               {"worst_host_ns", row.worst_host_ns},
               {"median_launch_gap_ns", known(row.median_launch_gap_ns)},
               {"median_between_replays_ns", known(row.median_between_ns)},
               {"gpu_busy_ratio", row.gpu_busy ? Json(*row.gpu_busy) : Json(nullptr)}};
  json.update(totals_json(row.totals));
  return json;
}

std::string dump(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string review_json(const Review& review, const Threshold& threshold) {
  Json steps = Json::array(), kinds = Json::array();
  for (std::size_t i = 0; i < review.steps.size(); ++i) steps.push_back(step_json(review, i));
  for (const StepKindRow& row : step_kinds(review)) {
    Json kind = {{"kind", row.kind}};
    kind.update(kind_json(row));
    kinds.push_back(std::move(kind));
  }
  return dump({{"schema", "refrain.review/1"},
               {"input", review.recording().name},
               {"steps_by", basis_json(review.cut)},
               {"steps", std::move(steps)},
               {"kinds", std::move(kinds)},
               {"findings", findings_json(review.report)},
               {"not_checked", not_checked_json(review.report)},
               {"totals", totals_json(review.totals)},
               {"summary", summary_json(review.report)},
               {"exit_code", review.report.exit_code(threshold)}});
}

}  // namespace refrain
