// Reads the Chrome trace JSON that PyTorch's profiler (Kineto) writes, plain or
// gzip, of CUDA or HIP, with old and new category names. Event by event: no more
// than one event is held as JSON. It knows the profiler's categories and takes
// other events for none of its own; an event that makes no sense is a problem.
#pragma once

#include <string>
#include <string_view>

#include "traces/read_progress.hpp"
#include "traces/sink.hpp"

namespace refrain {

/// Throws Error{input} when the file is no JSON from its first byte on, or holds no traceEvents.
void read_kineto(const std::string& path, RecordSink& sink, const ReadProgress& progress = {});

/// By the first bytes of the text, unpacked: a JSON object or array that speaks of a trace.
[[nodiscard]] bool looks_like_kineto(std::string_view head);

}  // namespace refrain
