#include "traces/trace_emission.hpp"

#include <algorithm>
#include <span>

#include "traces/node_origins.hpp"
#include "traces/trace_captures.hpp"

namespace refrain {
namespace {

bool has_stream(Api api) {
  switch (api) {
    case Api::launch_kernel:
    case Api::graph_launch:
    case Api::launch_host_func:
    case Api::memset_async: return true;
    default: return is_async_copy(api);
  }
}

bool is_pageable(MemorySpace space) {
  return space == MemorySpace::pageable;
}

/// Profilers count graph execs by process; 0 stays 0, an exec that is not known.
std::uint64_t handle_of(std::uint32_t process, std::uint32_t exec) {
  return exec == 0 ? 0 : std::uint64_t{process} << 32 | exec;
}

/// Of these, a table beside the calls may tell the stream.
bool stream_is_told(Api api) {
  return api == Api::stream_synchronize || api == Api::stream_query || api == Api::stream_wait_event ||
         api == Api::event_record;
}

/// What a copy was, once its device record is known.
Api copy_api(ApiName name, const WorkEvent& work) {
  const bool waits = name.form == ApiForm::copy_waits;
  switch (work.direction) {
    case CopyDirection::h2d:
      if (waits) return Api::memcpy_h2d;
      return is_pageable(work.source_space) ? Api::memcpy_async_h2d_pageable : Api::memcpy_async_h2d_pinned;
    case CopyDirection::d2h:
      if (waits) return Api::memcpy_d2h;
      return is_pageable(work.space) ? Api::memcpy_async_d2h_pageable : Api::memcpy_async_d2h_pinned;
    default: return name.api;
  }
}

class Emission {
 public:
  Emission(TraceTables& tables, RecordSink& sink) : tables_(tables), sink_(sink) {
    apis_.reserve(tables.names.size());
    for (const std::string& name : tables.names) apis_.push_back(find_api(name).value_or(ApiName{}));
    captures_ = captures_of_trace(tables.calls, apis_);
    origins_ = NodeOrigins(std::move(tables.nodes));
  }

  void run() {
    sink_.expect(tables_.calls.size(), tables_.ranges.size());
    number_ranges();
    for (const std::size_t range : by_end_) emit_range(range);
    std::uint64_t unmatched = 0;
    for (WorkEvent& work : tables_.work) {
      work.start_ns -= tables_.origin_ns;
      work.end_ns -= tables_.origin_ns;
      if (work.call == WorkEvent::kNoCall) ++unmatched;
    }
    sink_.all_work(std::move(tables_.work), tables_.names);
    origins_.emit(sink_);
    if (unmatched > 0)
      sink_.limit({"unmatched-work", "the trace does not hold the call that handed out this device work", unmatched});
  }

 private:
  /// At one moment a range ends before the next begins, and a call that begins then is in the latter.
  void number_ranges() {
    const auto& ranges = tables_.ranges;
    by_end_.resize(ranges.size());
    for (std::size_t i = 0; i < ranges.size(); ++i) by_end_[i] = i;
    std::vector<std::size_t> by_start = by_end_;
    std::stable_sort(by_start.begin(), by_start.end(),
                     [&](std::size_t a, std::size_t b) { return ranges[a].start_ns < ranges[b].start_ns; });
    std::stable_sort(by_end_.begin(), by_end_.end(),
                     [&](std::size_t a, std::size_t b) { return ranges[a].end_ns < ranges[b].end_ns; });
    first_.resize(ranges.size());
    last_.resize(ranges.size());
    std::size_t start = 0, end = 0;
    const auto advance = [&](std::uint64_t time, bool to_the_end) {
      while (start < by_start.size() || end < by_end_.size()) {
        const std::uint64_t starts = start < by_start.size() ? ranges[by_start[start]].start_ns : kNever;
        const std::uint64_t ends = end < by_end_.size() ? ranges[by_end_[end]].end_ns : kNever;
        if (!to_the_end && std::min(starts, ends) > time) return;
        const bool empty = ends == starts && end < by_end_.size() && ranges[by_end_[end]].start_ns == ends;
        if (starts < ends || empty)
          first_[by_start[start++]] = sequence_++;
        else
          last_[by_end_[end++]] = sequence_++;
      }
    };
    OpenCaptures open(captures_);
    for (std::size_t i = 0; i < tables_.calls.size(); ++i) {
      advance(tables_.calls[i].start_ns, false);
      emit_call(tables_.calls[i], open.at(i, tables_.calls[i]));
    }
    advance(kNever, true);
  }

  void emit_range(std::size_t index) {
    const TracedRange& range = tables_.ranges[index];
    const std::string& name = tables_.names[range.name];
    RangeEvent event;
    event.first = first_[index];
    event.last = last_[index];
    event.start_ns = range.start_ns - tables_.origin_ns;
    event.end_ns = range.end_ns - tables_.origin_ns;
    event.thread = range.thread;
    const auto note = std::lower_bound(tables_.notes.begin(), tables_.notes.end(), index,
                                       [](const RangeNote& n, std::size_t i) { return n.range < i; });
    if (note != tables_.notes.end() && note->range == index) {
      event.rows = note->rows;
      event.step = note->step;
    }
    sink_.range(event, name);
  }

  void emit_call(const TracedCall& call, const TracedCapture* capture) {
    const ApiName& name = apis_[call.name];
    ApiEvent event;
    event.sequence = sequence_++;
    event.start_ns = call.start_ns - tables_.origin_ns;
    event.end_ns = call.end_ns - tables_.origin_ns;
    event.thread = call.thread;
    event.code = call.code;
    event.api = name.api;
    origins_.made_by(call, event.sequence);
    const std::span<const WorkKey> work = work_of(call);
    for (const WorkKey& key : work)
      if (WorkEvent& piece = tables_.work[key.work];
          piece.call == WorkEvent::kNoCall || piece.start_ns >= call.start_ns)
        piece.call = event.sequence;
    if (has_stream(name.api) || name.api == Api::event_record) event.stream = kUnknownStream;
    if (!work.empty()) take_work(event, name, call, work);
    take_facts(event, call);
    if (event.api == Api::stream_synchronize && !known_stream_) event.stream = last_stream(call.thread);
    if (event.api == Api::exchange_capture_mode) event.mode = exchanges_.exchange(call.thread);
    if (event.api == Api::graph_instantiate) event.made = exec_made_by(call);
    if (capture != nullptr) take_capture(event, call, *capture, !work.empty());
    if (has_stream(event.api) && event.stream != kUnknownStream) last_streams_[call.thread] = event.stream;
    const bool named = event.api == Api::launch_kernel && !work.empty();
    sink_.call(event,
               named ? std::string_view(tables_.names[tables_.work[work.front().work].name]) : std::string_view());
  }

  [[nodiscard]] std::span<const WorkKey> work_of(const TracedCall& call) const {
    if (call.key.id == 0) return {};
    const auto first = std::lower_bound(tables_.work_keys.begin(), tables_.work_keys.end(), call.key,
                                        [](const WorkKey& work, const CorrelationKey& key) { return work.key < key; });
    auto last = first;
    while (last != tables_.work_keys.end() && last->key == call.key) ++last;
    return {first, last};
  }

  [[nodiscard]] bool is_null(std::uint32_t process, std::uint32_t stream) const {
    return std::binary_search(tables_.null_streams.begin(), tables_.null_streams.end(), std::pair(process, stream));
  }

  void take_work(ApiEvent& event, const ApiName& name, const TracedCall& call, std::span<const WorkKey> work) {
    const WorkEvent& first = tables_.work[work.front().work];
    event.stream = is_null(call.key.process, first.stream) ? 0 : first.stream;
    if (event.api == Api::graph_launch) {
      event.object = handle_of(call.key.process, work.front().exec);
      return;
    }
    for (const WorkKey& key : work) event.bytes += tables_.work[key.work].bytes;
    event.space = first.space;
    event.source_space = first.source_space;
    if (name.form != ApiForm::plain) event.api = copy_api(name, first);
  }

  void take_facts(ApiEvent& event, const TracedCall& call) {
    known_stream_ = false;
    if (call.key.id == 0) return;
    auto at = std::lower_bound(tables_.facts.begin(), tables_.facts.end(), call.key,
                               [](const CallFacts& facts, const CorrelationKey& key) { return facts.key < key; });
    for (; at != tables_.facts.end() && at->key == call.key; ++at) {
      if (at->object != 0) event.object = at->object;
      if (at->address != 0) event.address = at->address;
      if (at->bytes != 0) event.bytes = at->bytes;
      if (at->space != MemorySpace::unknown) event.space = at->space;
      if (at->stream == kUnknownStream || !stream_is_told(event.api)) continue;
      event.stream = is_null(call.key.process, at->stream) ? 0 : at->stream;
      known_stream_ = true;
    }
  }

  /// A sync whose stream the trace does not tell waits for the work that its thread handed out last.
  [[nodiscard]] std::uint32_t last_stream(std::uint32_t thread) const {
    const auto at = last_streams_.find(thread);
    return at == last_streams_.end() ? kUnknownStream : at->second;
  }

  [[nodiscard]] std::uint64_t exec_made_by(const TracedCall& call) const {
    const auto at = std::lower_bound(
        tables_.made.begin(), tables_.made.end(), call, [](const MadeExec& made, const TracedCall& by) {
          return made.thread != by.thread ? made.thread < by.thread : made.time_ns < by.start_ns;
        });
    const bool inside = at != tables_.made.end() && at->thread == call.thread && at->time_ns <= call.end_ns;
    return inside ? handle_of(call.key.process, at->exec) : 0;
  }

  /// Work that a device did by itself was not captured; what has no record of its own became nodes.
  void take_capture(ApiEvent& event, const TracedCall& call, const TracedCapture& capture, bool ran) {
    event.capture = capture.id;
    if (event.api != Api::exchange_capture_mode) event.mode = capture.mode;
    const bool own = capture.thread == call.thread;
    const bool legacy = ran && event.stream == 0;
    if (event.api == Api::begin_capture || event.api == Api::end_capture) event.stream = kUnknownStream;
    if (has_stream(event.api))
      event.target = legacy ? Target::legacy : ran || !own ? Target::other : Target::capturing;
    else if (event.api == Api::malloc_async || event.api == Api::free_async)
      event.target = own ? Target::capturing : Target::other;
    else if (event.api == Api::begin_capture || event.api == Api::end_capture)
      event.target = Target::capturing;
  }

  static constexpr std::uint64_t kNever = ~std::uint64_t{0};

  TraceTables& tables_;
  RecordSink& sink_;
  std::vector<ApiName> apis_;  // by name id
  std::vector<TracedCapture> captures_;
  NodeOrigins origins_;
  Exchanges exchanges_;
  std::vector<std::size_t> by_end_;
  std::vector<std::uint64_t> first_, last_;  // of ranges
  std::unordered_map<std::uint32_t, std::uint32_t> last_streams_;
  std::uint64_t sequence_ = 0;
  bool known_stream_ = false;
};

}  // namespace

void emit_tables(TraceTables& tables, RecordSink& sink) {
  Emission(tables, sink).run();
}

}  // namespace refrain
