// What refrain serve says at its end, as text and as JSON.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/serve_run.hpp"

namespace refrain {
namespace {

using Json = nlohmann::ordered_json;

double us(std::uint64_t ns) {
  return static_cast<double>(ns) / 1e3;
}

Json latency_json(const Histogram& h) {
  return {{"count", h.count()},
          {"p50_us", us(h.percentile_ns(0.5))},
          {"p90_us", us(h.percentile_ns(0.9))},
          {"p99_us", us(h.percentile_ns(0.99))},
          {"max_us", us(h.max_ns())}};
}

/// `first token  p50 1234.5 us, p90 ...`
std::string latency_text(const char* name, const Histogram& h) {
  if (h.count() == 0) return fmt::format("{:<14}none\n", name);
  return fmt::format("{:<14}p50 {:.1f} us, p90 {:.1f} us, p99 {:.1f} us, max {:.1f} us\n", name,
                     us(h.percentile_ns(0.5)), us(h.percentile_ns(0.9)), us(h.percentile_ns(0.99)), us(h.max_ns()));
}

Json reasons_json(const Counter& counter) {
  Json reasons = Json::object();
  for (const auto& [reason, count] : counter.reasons) reasons[reason] = count;
  return {{"count", counter.count}, {"reasons", reasons}};
}

std::string reasons_text(const char* name, const Counter& counter) {
  std::string text = fmt::format("{:<14}{}\n", name, counter.count);
  for (const auto& [reason, count] : counter.reasons) text += fmt::format("{:<14}{} x {}\n", "", count, reason);
  return text;
}

Json phases_json(const EngineStats& stats) {
  Json phases = Json::array();
  for (const Phase phase : kPhases) {
    const PhaseStats& p = stats.of(phase);
    phases.push_back({{"phase", to_string(phase)},
                      {"steps", p.steps},
                      {"replays", p.replays},
                      {"rows", p.rows},
                      {"pad_rows", p.pad_rows},
                      {"step", latency_json(p.step_ns)}});
  }
  return phases;
}

Json requests_json(const ServeResult& result) {
  Json requests = Json::array();
  for (const ScriptOutcome& r : result.requests) {
    if (!r.refused.empty()) {
      requests.push_back({{"line", r.line}, {"refused", r.refused}});
      continue;
    }
    requests.push_back({{"line", r.line},
                        {"finish", to_string(r.done.finish)},
                        {"prompt_tokens", r.done.prompt_tokens},
                        {"tokens", r.done.tokens},
                        {"preemptions", r.done.preemptions},
                        {"first_token_us", us(r.done.first_token_ns)},
                        {"total_us", us(r.done.total_ns)}});
  }
  return requests;
}

}  // namespace

std::string serve_json(const ServeResult& result) {
  const EngineStats& s = result.stats;
  const Json json{{"schema", "refrain.serve/1"},
                  {"model", result.model},
                  {"device", result.device.kind},
                  {"seconds", result.seconds},
                  {"warm_up", {{"graphs", result.warm_up.ready}, {"seconds", result.warm_up.seconds}}},
                  {"steps", s.steps()},
                  {"coverage_ratio", s.coverage()},
                  {"phases", phases_json(s)},
                  {"fallbacks", reasons_json(s.fallbacks)},
                  {"eager_checks", s.eager_checks},
                  {"eager_mismatches", s.eager_mismatches},
                  {"refusals", reasons_json(s.refusals)},
                  {"finished", reasons_json(s.finished)},
                  {"tokens_in", s.tokens_in},
                  {"tokens_out", s.tokens_out},
                  {"drafted", s.drafted},
                  {"accepted", s.accepted},
                  {"preemptions", s.preemptions},
                  {"pages", s.pages},
                  {"pages_in_use_most", s.pages_in_use_most},
                  {"first_token", latency_json(s.first_token_ns)},
                  {"between_tokens", latency_json(s.between_tokens_ns)},
                  {"in_all", latency_json(s.total_ns)},
                  {"requests", requests_json(result)},
                  {"exit_code", result.exit_code()}};
  return json.dump(2) + "\n";
}

std::string serve_text(const ServeResult& result) {
  const EngineStats& s = result.stats;
  std::string text = fmt::format("{:<14}{}, on {}; {} graphs in {:.2f} s\n", "model", result.model,
                                 result.device.device, result.warm_up.ready, result.warm_up.seconds);
  text += fmt::format("{:<14}{} steps in {:.2f} s, {:.2f} % of them replays\n", "served", s.steps(), result.seconds,
                      100 * s.coverage());
  for (const Phase phase : kPhases) {
    const PhaseStats& p = s.of(phase);
    if (p.steps > 0)
      text += fmt::format("{:<14}{} steps, {} rows, {} pads; {}", to_string(phase), p.steps, p.rows, p.pad_rows,
                          latency_text("", p.step_ns).substr(14));
  }
  text += fmt::format("{:<14}{} in, {} out; {} drafted, {} accepted\n", "tokens", s.tokens_in, s.tokens_out, s.drafted,
                      s.accepted);
  text += fmt::format("{:<14}{} of {} at most; {} preemptions\n", "pages", s.pages_in_use_most, s.pages, s.preemptions);
  text += latency_text("first token", s.first_token_ns) + latency_text("between", s.between_tokens_ns) +
          latency_text("in all", s.total_ns);
  text += reasons_text("finished", s.finished) + reasons_text("refused", s.refusals);
  for (const ScriptOutcome& r : result.requests)
    if (!r.refused.empty()) text += fmt::format("{:<14}line {}: {}\n", "", r.line, r.refused);
  if (s.eager_checks > 0)
    text += fmt::format("{:<14}{} steps, {} of them gave something else\n", "eager checks", s.eager_checks,
                        s.eager_mismatches);
  return text + reasons_text("fallbacks", s.fallbacks);
}

}  // namespace refrain
