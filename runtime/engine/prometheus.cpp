// Text exposition 0.0.4: a HELP and a TYPE line a family, then its samples. Bounds of
// histograms are powers of two nanoseconds, at which the counts are exact.
#include <fmt/format.h>

#include <cmath>

#include "runtime/engine/stats.hpp"

namespace refrain {
namespace {

/// 16 us to 69 s.
constexpr std::uint32_t kFirstPower = 14, kLastPower = 36;

double seconds(std::uint64_t ns) {
  return static_cast<double>(ns) * 1e-9;
}

/// Of a label's value.
std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\' || c == '"') out += '\\';
    if (c == '\n')
      out += "\\n";
    else
      out += c;
  }
  return out;
}

class Exposition {
 public:
  /// A family begins; its samples follow.
  void family(const char* name, const char* type, const char* help) {
    name_ = name;
    text_ += fmt::format("# HELP {} {}\n# TYPE {} {}\n", name, help, name, type);
  }
  template <class Value>
  void sample(Value value) {
    text_ += fmt::format("{} {}\n", name_, value);
  }
  template <class Value>
  void sample(const char* label, std::string_view of, Value value) {
    text_ += fmt::format("{}{{{}=\"{}\"}} {}\n", name_, label, escaped(of), value);
  }
  template <class Value>
  void one(const char* name, const char* type, const char* help, Value value) {
    family(name, type, help);
    sample(value);
  }
  void reasons(const char* name, const char* help, const char* label, const Counter& counter) {
    family(name, "counter", help);
    for (const auto& [reason, count] : counter.reasons) sample(label, reason, count);
  }
  /// `labels`: `phase="decode"` or nothing.
  void buckets(const Histogram& histogram, const std::string& labels) {
    const std::string and_le = labels.empty() ? "" : labels + ",", alone = labels.empty() ? "" : "{" + labels + "}";
    for (std::uint32_t power = kFirstPower; power <= kLastPower; ++power)
      text_ += fmt::format("{}_bucket{{{}le=\"{}\"}} {}\n", name_, and_le, seconds(std::uint64_t{1} << power),
                           histogram.at_most_power(power));
    text_ += fmt::format("{}_bucket{{{}le=\"+Inf\"}} {}\n", name_, and_le, histogram.count());
    text_ += fmt::format("{}_sum{} {}\n", name_, alone, seconds(histogram.sum_ns()));
    text_ += fmt::format("{}_count{} {}\n", name_, alone, histogram.count());
  }
  void histogram(const char* name, const char* help, const Histogram& histogram) {
    family(name, "histogram", help);
    buckets(histogram, "");
  }
  [[nodiscard]] std::string text() && { return std::move(text_); }

 private:
  const char* name_ = "";
  std::string text_;
};

void add_steps(Exposition& out, const EngineStats& stats) {
  struct Family {
    const char* name;
    const char* help;
    std::uint64_t PhaseStats::*value;
  };
  for (const auto& [name, help, value] :
       {Family{"refrain_steps_total", "Steps by phase.", &PhaseStats::steps},
        Family{"refrain_replayed_steps_total", "Steps that replayed a graph.", &PhaseStats::replays},
        Family{"refrain_rows_total", "Rows that computed a token of a request.", &PhaseStats::rows},
        Family{"refrain_pad_rows_total", "Rows that were launched for no token.", &PhaseStats::pad_rows}}) {
    out.family(name, "counter", help);
    for (const Phase phase : kPhases) out.sample("phase", to_string(phase), stats.of(phase).*value);
  }
  out.family("refrain_step_seconds", "histogram", "From a step's launch until its results were seen.");
  for (const Phase phase : kPhases) out.buckets(stats.of(phase).step_ns, fmt::format("phase=\"{}\"", to_string(phase)));
}

void add_requests(Exposition& out, const EngineStats& stats) {
  out.one("refrain_requests_total", "counter", "Requests that were taken.", stats.submitted);
  out.reasons("refrain_requests_refused_total", "Requests that could never be served.", "reason", stats.refusals);
  out.reasons("refrain_requests_finished_total", "Requests that ended.", "finish", stats.finished);
  out.one("refrain_prompt_tokens_total", "counter", "Tokens of the prompts that were taken.", stats.tokens_in);
  out.one("refrain_generated_tokens_total", "counter", "Tokens of answers.", stats.tokens_out);
  out.one("refrain_drafted_tokens_total", "counter", "Tokens that were drafted and verified.", stats.drafted);
  out.one("refrain_accepted_tokens_total", "counter", "Drafted tokens that were accepted.", stats.accepted);
  out.one("refrain_preemptions_total", "counter", "Requests that gave their pages back.", stats.preemptions);
  out.histogram("refrain_first_token_seconds", "From a request to its first token.", stats.first_token_ns);
  out.histogram("refrain_between_tokens_seconds", "From one token of a request to the next.", stats.between_tokens_ns);
  out.histogram("refrain_request_seconds", "From a request to its end, cancelled ones left out.", stats.total_ns);
}

}  // namespace

std::string prometheus_text(const EngineStats& stats) {
  Exposition out;
  add_steps(out, stats);
  out.reasons("refrain_fallbacks_total", "Steps that ran eagerly, by first violation.", "reason", stats.fallbacks);
  out.one("refrain_failed_launches_total", "counter", "Steps that were tried again.", stats.failed_launches);
  out.one("refrain_failed_settles_total", "counter",
          "Of these, where it was not known at once whether the step had run.", stats.failed_settles);
  out.one("refrain_late_captures_total", "counter", "Graphs that were captured while a step waited.",
          stats.captured_late);
  out.one("refrain_eager_checks_total", "counter", "Steps that were run once more, eagerly.", stats.eager_checks);
  out.one("refrain_eager_mismatches_total", "counter", "Of these, those that gave something else.",
          stats.eager_mismatches);
  out.one("refrain_coverage_ratio", "gauge", "Replayed steps of all.", stats.coverage());
  add_requests(out, stats);
  out.one("refrain_pages", "gauge", "KV pages that requests may have.", stats.pages);
  out.one("refrain_pages_in_use", "gauge", "KV pages that requests have.", stats.pages_in_use);
  out.one("refrain_pages_in_use_most", "gauge", "The most KV pages that requests had.", stats.pages_in_use_most);
  out.one("refrain_requests_waiting", "gauge", "Requests whose prompts are not computed yet.", stats.waiting);
  out.one("refrain_requests_running", "gauge", "Requests whose answers are under way.", stats.running);
  return std::move(out).text();
}

}  // namespace refrain
