// Chrome's trace event format: one JSON object, its events in any order, times in microseconds. Beside the trace in
// memory this keeps four bytes a call, eight a range and each name once more.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <numeric>
#include <vector>

#include "audit/reports/escape.hpp"
#include "audit/review/chrome_tracks.hpp"
#include "audit/review/finding_place.hpp"
#include "traces/output_file.hpp"

namespace refrain {
namespace {

constexpr std::size_t kWriteAtOnce = std::size_t{1} << 16;

std::string json_text(std::string_view text) {
  return nlohmann::json(visible(text)).dump();
}

/// Nanoseconds as the format's microseconds, exactly.
std::string microseconds(std::uint64_t ns) {
  return fmt::format("{}.{:03}", ns / 1000, ns % 1000);
}

std::uint64_t span(std::uint64_t start_ns, std::uint64_t end_ns) {
  return end_ns > start_ns ? end_ns - start_ns : 0;
}

const char* to_string(WorkKind kind) {
  switch (kind) {
    case WorkKind::kernel: return "kernel";
    case WorkKind::copy: return "copy";
    case WorkKind::fill: return "fill";
    case WorkKind::graph: return "graph";
  }
  return "work";
}

class ChromeWriter {
 public:
  ChromeWriter(const Review& review, const std::string& path)
      : review_(review),
        timeline_(review.timeline()),
        file_(path),
        tracks_([this](std::string_view text) { event(text); }),
        names_(timeline_.strings.size()),
        call_threads_(timeline_.calls.size()) {}

  void run() {
    pending_ = R"({"displayTimeUnit":"ns","otherData":)" + other_data().dump() + ",\n\"traceEvents\":[";
    review_process_ = tracks_.process("Review");
    host_process_ = tracks_.process("Host");
    write_findings();
    write_steps();
    write_host();
    write_device();
    pending_ += "\n]}\n";
    file_.write(pending_);
    file_.keep();
  }

 private:
  void event(std::string_view text) {
    pending_ += any_ ? ",\n" : "\n";
    any_ = true;
    pending_ += text;
    if (pending_.size() < kWriteAtOnce) return;
    file_.write(pending_);
    pending_.clear();
  }

  // A name is quoted once, however often it comes.
  const std::string& name(StringId id) {
    std::string& text = names_[id];
    if (text.empty()) text = json_text(timeline_.text(id));
    return text;
  }

  void slice(ChromeTrack track, std::string_view quoted_name, std::string_view category, std::uint64_t start_ns,
             std::uint64_t end_ns, std::string_view args) {
    event(fmt::format(R"({{"ph":"X","pid":{},"tid":{},"name":{},"cat":"{}","ts":{},"dur":{},"args":{{{}}}}})",
                      track.process, track.thread, quoted_name, category, microseconds(start_ns),
                      microseconds(span(start_ns, end_ns)), args));
  }

  [[nodiscard]] nlohmann::json finding_args(const Finding& finding, const FindingPlace& place) const {
    nlohmann::json args{{"rule", finding.rule},
                        {"severity", refrain::to_string(finding.severity)},
                        {"certainty", refrain::to_string(finding.certainty)},
                        {"standing", refrain::to_string(finding.standing)},
                        {"where", visible(finding.where)},
                        {"message", visible(finding.message)},
                        {"fix", visible(finding.fix)},
                        {"count", finding.count},
                        {"fingerprint", finding.fingerprint}};
    if (place.step) args["step"] = *place.step + 1;
    for (const std::string& fact : finding.evidence) args["evidence"].push_back(visible(fact));
    return args;
  }

  // Findings that have no time have no mark.
  [[nodiscard]] nlohmann::json other_data() const {
    nlohmann::json data{{"input", visible(review_.recording().name)},
                        {"step_basis", refrain::to_string(review_.cut.basis)},
                        {"steps_by", visible(review_.cut.why)}};
    for (const Finding& finding : review_.report.findings()) {
      const FindingPlace place = place_of(review_, finding);
      if (!place.at_ns) data["findings_without_a_time"].push_back(finding_args(finding, place));
    }
    return data;
  }

  void write_findings() {
    for (const Finding& finding : review_.report.findings()) {
      const FindingPlace place = place_of(review_, finding);
      if (!place.at_ns) continue;
      if (findings_.thread == 0) findings_ = tracks_.place(review_process_, "findings", 0, 0);
      event(fmt::format(R"({{"ph":"i","s":"t","pid":{},"tid":{},"name":{},"cat":"finding","ts":{},"args":{}}})",
                        findings_.process, findings_.thread, json_text(finding.rule + " " + finding.name),
                        microseconds(*place.at_ns), finding_args(finding, place).dump()));
    }
  }

  void write_steps() {
    for (std::size_t i = 0; i < review_.steps.size(); ++i) {
      const StepStats& step = review_.steps[i];
      const std::string& of = timeline_.text(step.name);
      std::string args = fmt::format(R"("step":{},"replays":{},"replayed_nodes":{},"eager_launches":{},"syncs":{})",
                                     i + 1, step.replays, step.replayed_nodes, step.eager_launches, step.syncs);
      if (step.gpu_busy_ns) args += fmt::format(R"(,"gpu_busy_us":{})", microseconds(*step.gpu_busy_ns));
      if (step.launch_gap_ns) args += fmt::format(R"(,"launch_gap_us":{})", microseconds(*step.launch_gap_ns));
      slice(tracks_.place(review_process_, fmt::format("steps of thread {}", step.thread), step.start_ns, step.end_ns),
            json_text(fmt::format("step {}{}{}", i + 1, of.empty() ? "" : " ", of)), "step", step.start_ns, step.end_ns,
            args);
    }
  }

  /// Of the program's own ranges, by begin and the outer one first: steps that were guessed are none.
  [[nodiscard]] std::vector<std::size_t> ranges_by_start() const {
    std::vector<std::size_t> order(timeline_.ranges.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    if (is_guessed(review_.cut.basis)) std::erase_if(order, [&](std::size_t i) { return timeline_.ranges[i].step; });
    std::stable_sort(order.begin(), order.end(), [&](std::size_t i, std::size_t j) {
      const RangeEvent &a = timeline_.ranges[i], &b = timeline_.ranges[j];
      return a.start_ns != b.start_ns ? a.start_ns < b.start_ns : a.end_ns > b.end_ns;
    });
    return order;
  }

  // Calls and ranges share their thread's track: there a call stands inside the range that it was made in.
  void write_host() {
    const std::vector<std::size_t> ranges = ranges_by_start();
    auto next = ranges.begin();
    const auto write_ranges_until = [&](std::uint64_t ns) {
      for (; next != ranges.end() && timeline_.ranges[*next].start_ns <= ns; ++next) write(timeline_.ranges[*next]);
    };
    for (std::size_t i = 0; i < timeline_.calls.size(); ++i) {
      write_ranges_until(timeline_.calls[i].start_ns);
      call_threads_[i] = write(timeline_.calls[i]);
    }
    write_ranges_until(~std::uint64_t{0});
  }

  [[nodiscard]] ChromeTrack host_track(std::uint32_t thread, std::uint64_t start_ns, std::uint64_t end_ns) {
    return tracks_.place(host_process_, fmt::format("thread {}", thread), start_ns, end_ns);
  }

  void write(const RangeEvent& range) {
    slice(host_track(range.thread, range.start_ns, range.end_ns), name(range.name), range.step ? "range,step" : "range",
          range.start_ns, range.end_ns, "");
  }

  std::uint32_t write(const ApiEvent& call) {
    std::string args = fmt::format(R"("sequence":{})", call.sequence);
    if (call.stream != kUnknownStream) args += fmt::format(R"(,"stream":{})", call.stream);
    if (call.detail != 0) args += fmt::format(R"(,"detail":{})", name(call.detail));
    if (call.bytes != 0) args += fmt::format(R"(,"bytes":{})", call.bytes);
    if (call.capture != 0) args += fmt::format(R"(,"capture":{})", call.capture);
    if (call.code != 0) args += fmt::format(R"(,"returned":{})", json_text(code_name(call.code)));
    const ChromeTrack track = host_track(call.thread, call.start_ns, call.end_ns);
    slice(track, json_text(refrain::to_string(call.api)), is_sync(call.api) ? "call,sync" : "call", call.start_ns,
          call.end_ns, args);
    return track.thread;
  }

  void write_device() {
    std::vector<bool> led(timeline_.calls.size(), false);
    for (const WorkEvent& work : timeline_.work) {
      const ChromeTrack track = write(work);
      const ApiEvent* call = work.call == WorkEvent::kNoCall ? nullptr : find_call(timeline_, work.call);
      // One arrow a call, to its first work; none backwards in time, where the two clocks disagree.
      if (call == nullptr || work.start_ns < call->start_ns) continue;
      const auto index = static_cast<std::size_t>(call - timeline_.calls.data());
      if (led[index]) continue;
      led[index] = true;
      constexpr auto kArrow = R"({{"ph":"{}","id":{},"pid":{},"tid":{},"name":"launch","cat":"flow","ts":{}{}}})";
      event(fmt::format(kArrow, 's', index + 1, host_process_, call_threads_[index], microseconds(call->start_ns), ""));
      event(fmt::format(kArrow, 'f', index + 1, track.process, track.thread, microseconds(work.start_ns),
                        R"(,"bp":"e")"));
    }
  }

  ChromeTrack write(const WorkEvent& work) {
    const std::string stream =
        work.stream == kUnknownStream ? "stream not recorded" : fmt::format("stream {}", work.stream);
    const ChromeTrack track =
        tracks_.place(tracks_.process(fmt::format("Device {}, process {}", work.device, work.process)), stream,
                      work.start_ns, work.end_ns);
    std::string args = fmt::format(R"("kind":"{}")", to_string(work.kind));
    if (work.bytes != 0) args += fmt::format(R"(,"bytes":{})", work.bytes);
    if (work.graph_node != 0) args += fmt::format(R"(,"graph_node":{})", work.graph_node);
    if (work.kind == WorkKind::copy)
      args += fmt::format(R"(,"from":"{}","to":"{}")", refrain::to_string(work.source_space),
                          refrain::to_string(work.space));
    if (work.call != WorkEvent::kNoCall) args += fmt::format(R"(,"call":{})", work.call);
    slice(track, name(work.name), to_string(work.kind), work.start_ns, work.end_ns, args);
    return track;
  }

  const Review& review_;
  const Timeline& timeline_;
  OutputFile file_;
  ChromeTracks tracks_;
  std::vector<std::string> names_;
  std::vector<std::uint32_t> call_threads_;  // the track on which each call stands
  std::uint32_t review_process_ = 0, host_process_ = 0;
  ChromeTrack findings_;
  std::string pending_;
  bool any_ = false;
};

}  // namespace

void write_chrome_trace(const Review& review, const std::string& path) {
  ChromeWriter(review, path).run();
}

}  // namespace refrain
