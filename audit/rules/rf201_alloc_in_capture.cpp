// RF201: allocations and frees by the capturing thread: those that broke the
// capture, and those that ran at once and left no node, so that no replay does them
// again. Inside a pair of cudaThreadExchangeStreamCaptureMode calls the latter are
// an allocator that grows its pool, and a note.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "audit/rules/capture_words.hpp"
#include "audit/rules/checks.hpp"
#include "audit/rules/words.hpp"

namespace refrain {
namespace {

/// The calls of one capture that ran and left no node.
struct Eager {
  std::vector<const ApiEvent*> plain, exchanged;
};

/// Sorts the memory calls of a timeline by the capture that their own thread had open.
class Sorter {
 public:
  explicit Sorter(const std::vector<CaptureWindow>& windows) : windows_(windows), eager_(windows.size()) {
    for (const CaptureWindow& window : windows) {
      auto& streams = streams_.emplace_back();
      streams.insert(window.stream);
      for (const ApiEvent* call : window.calls)
        if (call->target == Target::capturing || call->target == Target::forked) streams.insert(call->stream);
    }
  }

  std::vector<Eager> run(const Timeline& timeline) {
    for (const ApiEvent& call : timeline.calls) {
      if (call.code != 0) continue;
      if (call.api == Api::exchange_capture_mode) relaxed_[call.thread] = call.mode == CaptureMode::relaxed;
      if (!is_memory_call(call.api) && call.api != Api::cublas_create) continue;
      const std::size_t window = window_of(call);
      if (window == windows_.size() || became_node(window, call)) continue;
      (relaxed_[call.thread] ? eager_[window].exchanged : eager_[window].plain).push_back(&call);
    }
    for (Eager& eager : eager_) {
      name_setup_once(eager.plain);
      name_setup_once(eager.exchanged);
    }
    return std::move(eager_);
  }

 private:
  // A handle that is made allocates; where the recording shows with which calls, these are the finding.
  static void name_setup_once(std::vector<const ApiEvent*>& calls) {
    const std::vector<const ApiEvent*> all = calls;
    std::erase_if(calls, [&](const ApiEvent* setup) {
      return setup->api == Api::cublas_create && std::any_of(all.begin(), all.end(), [&](const ApiEvent* inner) {
               return is_memory_call(inner->api) && setup->start_ns <= inner->start_ns &&
                      inner->end_ns <= setup->end_ns;
             });
    });
  }

  [[nodiscard]] bool is_open(const CaptureWindow& window, const ApiEvent& call) const {
    const std::uint64_t from = window.begin != nullptr ? window.begin->sequence : 0;
    const std::uint64_t to = window.end != nullptr ? window.end->sequence : std::numeric_limits<std::uint64_t>::max();
    return from < call.sequence && call.sequence < to;
  }

  // A recorder names the capture that began last, which may be another thread's.
  [[nodiscard]] std::size_t window_of(const ApiEvent& call) const {
    std::size_t found = windows_.size();
    if (call.capture == 0) return found;
    for (std::size_t i = 0; i < windows_.size(); ++i) {
      if (windows_[i].thread != call.thread || !is_open(windows_[i], call)) continue;
      if (windows_[i].id == call.capture) return i;
      found = i;
    }
    return found;
  }

  [[nodiscard]] bool became_node(std::size_t window, const ApiEvent& call) const {
    if (call.api != Api::malloc_async && call.api != Api::free_async) return false;
    if (call.target == Target::none) return streams_[window].contains(call.stream);
    return call.target == Target::capturing || call.target == Target::forked;
  }

  const std::vector<CaptureWindow>& windows_;
  std::vector<Eager> eager_;
  std::vector<std::set<std::uint32_t>> streams_;  // of each capture: its own and the forked ones
  std::map<std::uint32_t, bool> relaxed_;         // by thread: its last exchange asked for relaxed
};

const char* const kWarmUp =
    "run the library once before the capture, on the stream and the thread that will capture, so that its handles and "
    "workspaces exist; for cuBLAS, create the handle and call cublasSetWorkspace";

/// A library that was set up before the capture, on a stream other than the one that is captured.
std::string warmed_up_elsewhere(const Timeline& timeline, const CaptureWindow& capture) {
  const ApiEvent& call = *capture.violation;
  if (call.detail == 0) return {};
  for (const ApiEvent& earlier : timeline.calls) {
    if (earlier.sequence >= call.sequence) break;
    if (earlier.detail == call.detail && earlier.capture == 0 && earlier.stream != capture.stream)
      return fmt::format(
          "{} ran before the capture on stream {}, and the capture is of stream {}: what it sets up for a "
          "stream was not there",
          timeline.text(call.detail), earlier.stream, capture.stream);
  }
  return {};
}

bool is_library_setup(const CaptureWindow& capture) {
  for (const ApiEvent* call : capture.calls)
    if (call->api == Api::cublas_create && call->code != 0 && call->thread == capture.thread) return true;
  return false;
}

void report_violation(const Timeline& timeline, const CaptureWindow& capture, Report& report) {
  const ApiEvent& call = *capture.violation;
  const std::string& detail = timeline.text(call.detail);
  const bool setup = is_library_setup(capture);
  Finding finding = new_finding("RF201", Certainty::proven);
  finding.where = fmt::format("capture {}, {}", capture.id, to_string(call.api));
  if (call.api == Api::cublas_create) {
    finding.message = fmt::format(
        "cublasCreate failed with status {} during a {} capture: the handle allocates memory, which a capture does not "
        "allow, and the capture is dead from here on",
        call.code, to_string(capture.mode));
  } else {
    finding.message = fmt::format(
        "{} (thread {}) came back {} ({}) during a {} capture{}: memory can't be had or given back at once while work "
        "is "
        "only being recorded, and the capture is dead from here on",
        to_string(call.api), call.thread, call.code, code_name(call.code), to_string(capture.mode),
        setup ? ", inside cublasCreate" : "");
  }
  if (!detail.empty()) finding.evidence.push_back(fmt::format("made in {}", detail));
  if (call.bytes > 0) finding.evidence.push_back(fmt::format("{} bytes were asked for", call.bytes));
  const std::string elsewhere = warmed_up_elsewhere(timeline, capture);
  if (!elsewhere.empty()) finding.evidence.push_back(elsewhere);
  if (const auto later = capture.consequences(); later > 0)
    finding.evidence.push_back(
        fmt::format("{} later call{} of this capture came back 901: a consequence", later, later == 1 ? "" : "s"));
  finding.fix = setup || !elsewhere.empty()
                    ? kWarmUp
                    : "allocate before the capture begins and hand the memory in, or use cudaMallocAsync on the "
                      "capturing stream, which becomes a node";
  report.add(std::move(finding), std::vector<std::string>{to_string(call.api), detail});
}

void report_plain(const Timeline& timeline, const CaptureWindow& capture, const std::vector<const ApiEvent*>& calls,
                  Report& report) {
  std::map<std::pair<Api, StringId>, std::vector<const ApiEvent*>> kinds;
  for (const ApiEvent* call : calls) kinds[{call->api, call->detail}].push_back(call);
  for (const auto& [kind, same] : kinds) {
    const std::string& detail = timeline.text(kind.second);
    Finding finding = new_finding("RF201", Certainty::proven);
    finding.count = same.size();
    finding.where = fmt::format("capture {}, {}", capture.id, to_string(kind.first));
    finding.message = fmt::format(
        "{} ran {} by the capturing thread during a {} capture, at once and outside the graph: no replay does it "
        "again, and "
        "in global or thread_local mode it would have killed the capture",
        to_string(kind.first), same.size() == 1 ? "once" : fmt::format("{} times", same.size()),
        to_string(capture.mode));
    if (!detail.empty()) finding.evidence.push_back(fmt::format("made in {}", detail));
    finding.fix =
        "move the call before the capture begins; what the graph shall own, allocate with cudaMallocAsync on the "
        "capturing stream";
    report.add(std::move(finding), std::vector<std::string>{"eager", to_string(kind.first), detail});
  }
}

void report_exchanged(const CaptureWindow& capture, const std::vector<const ApiEvent*>& calls, Report& report) {
  std::uint64_t bytes = 0;
  std::set<std::string> apis;
  for (const ApiEvent* call : calls) {
    bytes += call->bytes;
    apis.insert(to_string(call->api));
  }
  const std::string names = list_names({apis.begin(), apis.end()});
  Finding finding = new_finding("RF201", Certainty::proven);
  finding.severity = Severity::note;
  finding.count = calls.size();
  finding.where = fmt::format("capture {}, {}", capture.id, names);
  finding.message = fmt::format(
      "{} memory call{} ran during the capture between two exchanges of the capture mode: an allocator grows the pool "
      "that "
      "this graph keeps",
      calls.size(), calls.size() == 1 ? "" : "s");
  if (bytes > 0) finding.evidence.push_back(fmt::format("{} bytes in all", bytes));
  finding.fix =
      "nothing, if the pool lives as long as the graph; to have no growth here, run the step once before the "
      "capture in the same pool";
  report.add(std::move(finding), std::vector<std::string>{"exchanged", names});
}

}  // namespace

void check_rf201(const SubjectView& view, Report& report) {
  if (!has_timelines(view, report, "RF201", "a graph alone does not show the calls made during its capture")) return;
  for (const Recording* recording : view.timelines()) {
    const Timeline& timeline = recording->timeline;
    const auto captures = whole_captures(*recording, report, "RF201");
    const auto eager = Sorter(captures).run(timeline);
    for (std::size_t i = 0; i < captures.size(); ++i) {
      const CaptureWindow& capture = captures[i];
      if (capture.violation != nullptr && kind_of(capture) == ViolationKind::allocation)
        report_violation(timeline, capture, report);
      if (!eager[i].plain.empty()) report_plain(timeline, capture, eager[i].plain, report);
      if (!eager[i].exchanged.empty()) report_exchanged(capture, eager[i].exchanged, report);
    }
  }
}

}  // namespace refrain
