#include "audit/rules/capture_words.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "audit/graph_lives.hpp"
#include "audit/rules/words.hpp"

namespace refrain {
namespace {

bool is_work(Api api) noexcept {
  return is_launch(api) || is_async_copy(api) || api == Api::graph_launch;
}

bool escaped(const ApiEvent& call, Escape how) noexcept {
  // A launch always has a stream, so 0 is the legacy one even where nothing else says so.
  const bool legacy = call.target == Target::legacy || (call.target == Target::none && call.stream == 0);
  switch (how) {
    case Escape::other_stream:
      return is_work(call.api) && (call.target == Target::other || call.target == Target::per_thread);
    case Escape::legacy_stream: return is_work(call.api) && legacy;
    case Escape::blocking_copy: return is_blocking_copy(call.api);
  }
  return false;
}

}  // namespace

std::vector<CaptureWindow> whole_captures(const Recording& recording, Report& report, std::string_view rule) {
  std::vector<CaptureWindow> captures = captures_of(recording.timeline);
  std::erase_if(captures, [&](const CaptureWindow& capture) {
    if (capture.begin != nullptr) return false;
    const Graph* graph = graph_of_capture(recording, capture);
    report.not_checked(
        rule,
        fmt::format("capture {}, of {}{}, had begun before the recording did: what was called in it until then is not "
                    "known; open the window before the capture",
                    capture.id, captured_stream(capture, "a stream that is not known"),
                    graph != nullptr && !graph->name.empty() ? fmt::format(", which gave graph {}", graph->name) : ""));
    return true;
  });
  return captures;
}

std::string captured_stream(const CaptureWindow& capture, const char* otherwise) {
  return capture.stream == kUnknownStream ? otherwise : fmt::format("stream {}", capture.stream);
}

std::string capture_place(const CaptureWindow& capture, const ApiEvent& call) {
  return fmt::format("capture {}, {} on stream {}", capture.id, to_string(call.api), call.stream);
}

std::string call_words(const ApiEvent& call) {
  return fmt::format("{} (stream {}, thread {}) came back {} ({})", to_string(call.api), call.stream, call.thread,
                     call.code, code_name(call.code));
}

std::string work_name(const Timeline& timeline, const ApiEvent& call) {
  const std::string& detail = timeline.text(call.detail);
  return detail.empty() ? to_string(call.api) : detail;
}

std::vector<std::string> work_names(const Timeline& timeline, const std::vector<const ApiEvent*>& calls) {
  std::vector<std::string> names;
  for (const ApiEvent* call : calls) {
    std::string name = work_name(timeline, *call);
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(std::move(name));
  }
  return names;
}

std::string list_work(const Timeline& timeline, const std::vector<const ApiEvent*>& calls) {
  return list_names(work_names(timeline, calls));
}

void add_consequences(Finding& finding, const Timeline& timeline, const CaptureWindow& capture) {
  if (const std::string& detail = timeline.text(capture.violation->detail); !detail.empty())
    finding.evidence.push_back(fmt::format("made in {}", detail));
  if (const auto later = capture.consequences(); later > 0)
    finding.evidence.push_back(
        fmt::format("{} later call{} of this capture came back 901: a consequence", later, later == 1 ? "" : "s"));
}

std::vector<const ApiEvent*> escaped_calls(const CaptureWindow& capture, Escape how) {
  std::vector<const ApiEvent*> calls;
  // Without its begin nobody knows which thread captures.
  if (capture.begin == nullptr) return calls;
  for (const ApiEvent* call : capture.calls) {
    if (capture.violation != nullptr && call->sequence >= capture.violation->sequence) break;
    if (call->thread == capture.thread && call->code == 0 && escaped(*call, how)) calls.push_back(call);
  }
  return calls;
}

const Graph* graph_of_capture(const Recording& recording, const CaptureWindow& capture) {
  const std::vector<GraphLife> lives = lives_of(recording);
  for (std::size_t i = 0; i < lives.size(); ++i)
    if (lives[i].tied && lives[i].capture == capture.id) return &recording.graphs[i];
  return nullptr;
}

void add_empty_graph(Finding& finding, const Recording& recording, const CaptureWindow& capture) {
  const Graph* graph = graph_of_capture(recording, capture);
  if (graph != nullptr && graph->nodes.empty())
    finding.evidence.push_back("the graph that came of the capture has no nodes: a consequence");
}

}  // namespace refrain
