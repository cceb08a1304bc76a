#include "cli/run_report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstring>
#include <nlohmann/json.hpp>

#include "graphs/graph.hpp"

namespace refrain {
namespace {

using Json = nlohmann::ordered_json;

Json optional_number(const std::optional<double>& number) {
  return number ? Json(*number) : Json(nullptr);
}

/// Outputs of whole numbers, by name: what a step decided, e.g. how many draft tokens each request accepted.
std::vector<std::pair<std::string, std::vector<std::int32_t>>> decisions(const Output& output) {
  std::vector<std::pair<std::string, std::vector<std::int32_t>>> out;
  for (std::size_t i = 0; i < output.tensors.size(); ++i) {
    const OutputTensor& tensor = output.tensors[i];
    if (tensor.dtype != Dtype::i32) continue;
    std::vector<std::int32_t> values(static_cast<std::size_t>(tensor.real_elements()));
    std::memcpy(values.data(), output.bytes[i].data(), values.size() * sizeof(std::int32_t));
    out.emplace_back(tensor.name, std::move(values));
  }
  return out;
}

Json replay_json(const ReplaySummary& replay) {
  Json json{{"count", replay.count},
            {"bit_equal", replay.bit_equal},
            {"nan_count", replay.nan.count},
            {"nan_dims", replay.nan.dims},
            {"nan_rows", replay.nan.rows},
            {"max_abs_error_reference", optional_number(replay.max_abs_error_reference)},
            {"max_abs_error_xqa", optional_number(replay.max_abs_error_xqa)}};
  for (const auto& [name, values] : decisions(replay.output)) json[name] = values;
  return json;
}

std::string error_text(const std::optional<double>& error) {
  return error ? fmt::format("{:.3g}", *error) : "none finite";
}

/// `102 152 168-170`
std::string runs_of(const std::vector<std::int32_t>& ascending) {
  std::string text;
  for (std::size_t i = 0; i < ascending.size(); ++i) {
    const std::int32_t first = ascending[i];
    while (i + 1 < ascending.size() && ascending[i + 1] == ascending[i] + 1) ++i;
    text += fmt::format("{}{}", text.empty() ? "" : " ", first);
    if (ascending[i] != first) text += fmt::format("-{}", ascending[i]);
  }
  return text;
}

std::string replay_text(const ReplaySummary& r) {
  std::string text = fmt::format("replayed  {} times, {}; ", r.count, r.bit_equal ? "bit-equal" : "NOT bit-equal");
  if (r.nan.count == 0)
    text += "no NaN";
  else
    text += fmt::format("{} NaN in {} rows, head dims {}", r.nan.count, r.nan.rows.size(), runs_of(r.nan.dims));
  for (const auto& [name, values] : decisions(r.output))
    text += fmt::format("\n{:<9} {}", name, fmt::join(values, " "));
  text += fmt::format("\nerror     {} against the fp64 reference", error_text(r.max_abs_error_reference));
  if (r.has_other_route) text += fmt::format(", {} against the XQA route", error_text(r.max_abs_error_xqa));
  return text + " (max abs over finite elements)\n";
}

}  // namespace

std::string run_json(const RunResult& result) {
  Json json{{"schema", "refrain.run/1"}, {"step", to_string(result.options.step.step)}, {"device", result.device.kind}};
  json["graph"] = nullptr;
  if (result.graph)
    json["graph"] = {{"nodes", result.graph->nodes.size()},
                     {"edges", result.graph->edges.size()},
                     {"fingerprint", fingerprint(*result.graph)}};
  json["audit"] = Json::parse(report_json(result.audit));
  json["replay"] = result.replay ? replay_json(*result.replay) : Json(nullptr);
  return json.dump(2) + "\n";
}

std::string run_text(const RunResult& result) {
  const StepOptions& o = result.options.step;
  std::string text = fmt::format("step      {}: {}, on {}\n", to_string(o.step), describe(o), result.device.device);
  if (result.graph)
    text += fmt::format("captured  {} nodes, {} edges, fingerprint {}\n", result.graph->nodes.size(),
                        result.graph->edges.size(), fingerprint(*result.graph));
  else
    text += fmt::format("captured  nothing: {}\n", result.refused);
  if (result.replay)
    text += replay_text(*result.replay);
  else if (result.graph)
    text += fmt::format("replayed  not at all: {}\n", result.refused);
  return text + "\n" + report_text(result.audit);
}

}  // namespace refrain
