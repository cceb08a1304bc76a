// RF505: a capture that failed for a reason of its own: a fork that was not
// joined, a wait for work outside, a graph launched into it, an end from the wrong
// place. The first violation is the finding, what follows from it is evidence.
// Syncs, allocations, modules, the legacy stream and other threads have rules.
#include <fmt/format.h>

#include <algorithm>

#include "audit/rules/capture_words.hpp"
#include "audit/rules/checks.hpp"
#include "audit/rules/unjoined.hpp"
#include "audit/rules/words.hpp"

namespace refrain {
namespace {

constexpr std::int32_t kUnsupported = 900, kInvalidated = 901, kMerge = 902, kUnmatched = 903, kUnjoined = 904,
                       kIsolation = 905, kWrongThread = 908;

/// What is wrong with the violating call, and what mends it.
struct Reason {
  std::string what, fix;
  std::vector<std::string> evidence, names;
};

Reason unjoined(const Timeline& timeline, const CaptureWindow& capture) {
  Reason reason;
  const std::vector<OpenFork> forks = unjoined_forks(capture);
  if (forks.empty()) {
    reason.what = "a stream that was forked into the capture was not joined to it";
    reason.fix = fmt::format("record an event on each forked stream after its last work and let stream {} wait for it",
                             capture.stream);
    return reason;
  }
  for (const OpenFork& fork : forks) {
    const std::string last = fork.last == nullptr ? "" : work_name(timeline, *fork.last);
    reason.what +=
        fmt::format("{}stream {} was forked into the capture and not joined{}", reason.what.empty() ? "" : "; ",
                    fork.stream, last.empty() ? "" : fmt::format("; its last work is {}", last));
    if (fork.external)
      reason.evidence.push_back(
          fmt::format("an external event was recorded on stream {}: that makes a node and does not join", fork.stream));
    reason.names.push_back(last);
  }
  const bool external = std::any_of(forks.begin(), forks.end(), [](const OpenFork& fork) { return fork.external; });
  reason.fix =
      fmt::format("record {} on stream {} after its last work and let stream {} wait for it before the capture ends",
                  external ? "a plain event, not an external one," : "an event", forks.front().stream, capture.stream);
  return reason;
}

const ApiEvent* last_record(const Timeline& timeline, const ApiEvent& wait) {
  const ApiEvent* last = nullptr;
  for (const ApiEvent& call : timeline.calls) {
    if (call.sequence >= wait.sequence) break;
    if (call.api == Api::event_record && call.object == wait.object && call.code == 0) last = &call;
  }
  return last;
}

Reason isolation(const Timeline& timeline, const CaptureWindow& capture) {
  const ApiEvent* record = last_record(timeline, *capture.violation);
  Reason reason;
  reason.what = "the stream was to wait for work that is not in the capture";
  if (record != nullptr)
    reason.what += fmt::format(": the event was last recorded at event {}, on stream {} by thread {}{}",
                               record->sequence, record->stream, record->thread,
                               capture.begin != nullptr && record->sequence < capture.begin->sequence
                                   ? ", before the capture began"
                                   : ", outside it");
  reason.fix =
      "wait for the event before the capture begins, or record it on a stream of the capture; a wait that every replay "
      "must repeat needs cudaEventWaitExternal";
  return reason;
}

Reason merge(const Timeline& timeline, const CaptureWindow& capture) {
  const ApiEvent* record = last_record(timeline, *capture.violation);
  Reason reason;
  reason.what = "the stream was to wait for an event of another capture";
  if (record != nullptr)
    reason.what += fmt::format(": it was recorded at event {}, on stream {} in capture {}", record->sequence,
                               record->stream, record->capture);
  reason.fix =
      "capture both into one graph by forking from one stream, or order the two graphs with external events "
      "(cudaEventRecordExternal, cudaEventWaitExternal)";
  return reason;
}

Reason of_end(const Timeline& timeline, const CaptureWindow& capture) {
  const ApiEvent& end = *capture.violation;
  switch (end.code) {
    case kUnjoined: return unjoined(timeline, capture);
    case kUnmatched:
      return {fmt::format("stream {} was forked into the capture; it began on stream {}", end.stream, capture.stream),
              fmt::format("join stream {} to stream {} and end the capture on stream {}", end.stream, capture.stream,
                          capture.stream),
              {},
              {}};
    case kWrongThread:
      return {fmt::format("thread {} ended it, but thread {} began it", end.thread, capture.thread),
              "end the capture on the thread that began it; only a relaxed capture may be ended by another",
              {},
              {}};
    default: return {"the capture could not be ended", "see what the call was given: its stream and its graph", {}, {}};
  }
}

struct Advice {
  Api api;
  const char* what;
  const char* fix;
};

constexpr Advice kAdvice[] = {
    {Api::graph_launch, "a graph was launched into the capturing stream",
     "add it as a child graph node (cudaGraphAddChildGraphNode, then cudaStreamUpdateCaptureDependencies), or launch "
     "it "
     "before or after the capture"},
    {Api::graph_instantiate, "a graph was instantiated while the capture was open",
     "instantiate before the capture begins or after it has ended"},
    {Api::graph_exec_destroy, "a graph exec was destroyed while the capture was open",
     "destroy graph execs after the capture has ended; a destructor that can run during a capture must defer it"},
    {Api::stream_add_callback, "cudaStreamAddCallback cannot be captured", "use cudaLaunchHostFunc"},
    {Api::memcpy_peer_async, "cudaMemcpyPeerAsync cannot be captured",
     "use cudaMemcpyAsync with cudaMemcpyDefault, or copy before the capture begins"},
    {Api::mem_prefetch_async, "a prefetch of managed memory cannot be captured",
     "prefetch before the capture begins, or use device memory"},
    {Api::stream_attach_mem_async, "attaching managed memory to a stream cannot be captured",
     "attach it before the capture begins"},
};

Reason reason_of(const Timeline& timeline, const CaptureWindow& capture) {
  const ApiEvent& call = *capture.violation;
  if (call.api == Api::end_capture) return of_end(timeline, capture);
  if (call.code == kIsolation) return isolation(timeline, capture);
  if (call.code == kMerge) return merge(timeline, capture);
  for (const Advice& advice : kAdvice)
    if (advice.api == call.api) return {advice.what, advice.fix, {}, {}};
  return {"CUDA does not allow the call here", "make it before the capture begins or after it has ended", {}, {}};
}

void report_violation(const Timeline& timeline, const CaptureWindow& capture, Report& report) {
  const ApiEvent& call = *capture.violation;
  Reason reason = reason_of(timeline, capture);
  Finding finding = new_finding("RF505", Certainty::proven);
  finding.where = capture_place(capture, call);
  finding.message = fmt::format("{}: {}", call_words(call), reason.what);
  finding.evidence = std::move(reason.evidence);
  add_consequences(finding, timeline, capture);
  finding.fix = std::move(reason.fix);
  std::vector<std::string> names = {to_string(call.api), code_name(call.code)};
  names.insert(names.end(), reason.names.begin(), reason.names.end());
  report.add(std::move(finding), names);
}

/// A capture that ended invalid though none of its calls broke it: another capture's violation may have.
bool is_explained(const CaptureWindow& capture, const std::vector<CaptureWindow>& all) {
  return std::any_of(all.begin(), all.end(), [&](const CaptureWindow& other) {
    return other.violation != nullptr && capture.begin != nullptr &&
           capture.begin->sequence < other.violation->sequence && other.violation->sequence < capture.end->sequence;
  });
}

void report_unseen(const CaptureWindow& capture, Report& report) {
  Finding finding = new_finding("RF505", Certainty::inferred);
  finding.where = capture_place(capture, *capture.end);
  finding.message = fmt::format("{}: something invalidated the capture, and no call in the recording shows what",
                                call_words(*capture.end));
  finding.fix = "record every thread of the process from before the capture begins, driver calls included";
  report.add(std::move(finding), std::vector<std::string>{"unseen"});
}

void report_refused_begin(const ApiEvent& begin, Report& report) {
  Finding finding = new_finding("RF505", Certainty::proven);
  finding.where = fmt::format("{} on stream {}", to_string(begin.api), begin.stream);
  finding.message = fmt::format("{}: the legacy stream cannot be captured", call_words(begin));
  finding.fix = "capture on a stream that was made with cudaStreamCreateWithFlags(cudaStreamNonBlocking)";
  report.add(std::move(finding), std::vector<std::string>{to_string(begin.api)});
}

}  // namespace

void check_rf505(const SubjectView& view, Report& report) {
  if (!has_timelines(view, report, "RF505", "a graph alone does not show the calls made during its capture")) return;
  for (const Recording* recording : view.timelines()) {
    for (const ApiEvent& call : recording->timeline.calls)
      if (call.api == Api::begin_capture && call.code == kUnsupported && call.stream == 0)
        report_refused_begin(call, report);
    const std::vector<CaptureWindow> captures = whole_captures(*recording, report, "RF505");
    for (const CaptureWindow& capture : captures) {
      if (capture.violation != nullptr && kind_of(capture) == ViolationKind::other)
        report_violation(recording->timeline, capture, report);
      if (capture.violation == nullptr && capture.end != nullptr && capture.end->code == kInvalidated &&
          !is_explained(capture, captures))
        report_unseen(capture, report);
    }
  }
}

}  // namespace refrain
