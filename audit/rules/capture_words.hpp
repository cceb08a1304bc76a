// What the rules on captures have in common: how a call and its place are named,
// which calls of a capture ran outside the graph, and which graph came of it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "audit/captures.hpp"
#include "audit/report.hpp"
#include "audit/subject.hpp"

namespace refrain {

/// The captures that `rule` can judge. Of one whose begin was not seen nobody knows what came before, nor which thread
/// captures: it is named as not checked.
[[nodiscard]] std::vector<CaptureWindow> whole_captures(const Recording& recording, Report& report,
                                                        std::string_view rule);

/// `stream 5`; `otherwise` where the trace does not name the stream that is captured.
[[nodiscard]] std::string captured_stream(const CaptureWindow& capture, const char* otherwise);
/// `capture 1, cudaMalloc on stream 3`
[[nodiscard]] std::string capture_place(const CaptureWindow& capture, const ApiEvent& call);
/// `cudaMalloc (stream 3, thread 2) came back 900 (cudaErrorStreamCaptureUnsupported)`
[[nodiscard]] std::string call_words(const ApiEvent& call);
/// The op's or kernel's name, else the call's.
[[nodiscard]] std::string work_name(const Timeline& timeline, const ApiEvent& call);
/// Each name once, in order of first use.
[[nodiscard]] std::vector<std::string> work_names(const Timeline& timeline, const std::vector<const ApiEvent*>& calls);
/// `attention, sample and 3 more`
[[nodiscard]] std::string list_work(const Timeline& timeline, const std::vector<const ApiEvent*>& calls);

/// Adds where the violation was made, and the calls that failed because of it, as evidence.
void add_consequences(Finding& finding, const Timeline& timeline, const CaptureWindow& capture);

/// How work by the capturing thread escaped its capture: it ran at once and no replay repeats it.
/// Each has one rule: 501, 504, 502.
enum class Escape : std::uint8_t { other_stream, legacy_stream, blocking_copy };
/// In order, up to what broke the capture.
[[nodiscard]] std::vector<const ApiEvent*> escaped_calls(const CaptureWindow& capture, Escape how);

/// The graph that came of the capture, if the recording holds it.
[[nodiscard]] const Graph* graph_of_capture(const Recording& recording, const CaptureWindow& capture);
/// Says so when that graph has no nodes: the empty graph is a consequence of the escape, and rule 605 is silent on it.
void add_empty_graph(Finding& finding, const Recording& recording, const CaptureWindow& capture);

}  // namespace refrain
