#include "traces/kineto/kineto_reader.hpp"

#include "graphs/error.hpp"
#include "graphs/text.hpp"
#include "traces/kineto/json_scanner.hpp"
#include "traces/kineto/trace_event.hpp"
#include "traces/trace_assembly.hpp"

namespace refrain {
namespace {

class Reading {
 public:
  Reading(const std::string& path, RecordSink& sink, const ReadProgress& progress)
      : path_(path), sink_(sink), json_(path, progress) {}

  void run() {
    if (!find_events() || json_.next() != Token::end)
      throw Error(ErrorKind::input, "byte 0", "expected a list of traceEvents, found none; export the trace again",
                  path_);
    sink_.header({"", {"cuda", "", "", "PyTorch profiler"}});
    trace_.emit(sink_, true);
    sink_.limit({"no-return-codes", "the trace does not say what calls returned: failures do not show", 0});
    if (bad_ > 0)
      sink_.problem({"bad-event", "an event lacks its times: what it says is missing from what is reported", bad_, 0});
    sink_.end(true);
  }

 private:
  /// They stand under traceEvents, or are the whole text. False when they are not there.
  bool find_events() {
    const Token outermost = json_.next();
    if (outermost == Token::begin_array) read_events();
    if (outermost != Token::begin_object) return outermost == Token::begin_array;
    bool found = false;
    while (json_.next() == Token::key) {
      const bool events = json_.text() == "traceEvents";
      const Token value = json_.next();
      if (events && value == Token::begin_array) {
        read_events();
        found = true;
      } else if (value == Token::begin_object || value == Token::begin_array) {
        json_.skip_rest();
      }
    }
    return found;
  }

  void read_events() {
    TraceEvent event;
    for (Token token = json_.next(); token != Token::end_array; token = json_.next()) {
      if (token == Token::begin_array) json_.skip_rest();
      if (token != Token::begin_object) continue;
      read_event(json_, event);
      if (event.kind != EventKind::other) take(event);
    }
  }

  void take(const TraceEvent& event) {
    if (!event.start_ns || !event.duration_ns) {
      ++bad_;
      return;
    }
    const std::uint64_t start = *event.start_ns, end = start + *event.duration_ns;
    if (event.kind == EventKind::call) {
      trace_.call({start, end, key(event.correlation), thread(event), trace_.name(event.name), 0});
      facts(event);
    } else if (event.kind == EventKind::range) {
      trace_.range({start, end, thread(event), trace_.name(event.name)});
      trace_.note(event.rows.rows(), false);
    } else if (event.kind == EventKind::sync) {
      facts(event);
    } else {
      work(event, start, end);
    }
  }

  /// A trace is of one process; device events name the device where others name it.
  [[nodiscard]] static CorrelationKey key(const std::optional<std::uint64_t>& correlation) {
    return {1, static_cast<std::uint32_t>(correlation.value_or(0))};
  }

  /// Ids that are no numbers, or less than 0, are numbered from 2^40 on.
  std::uint64_t number_of(const std::string& id) {
    const auto number = parse_unsigned(id);
    return number ? *number : std::uint64_t{1} << 40 | trace_.name(id);
  }

  std::uint32_t thread(const TraceEvent& event) { return trace_.thread(number_of(event.pid), number_of(event.tid)); }

  [[nodiscard]] static std::uint32_t small(const std::optional<std::uint64_t>& id, std::uint32_t otherwise) {
    return id && *id < kUnknownStream ? static_cast<std::uint32_t>(*id) : otherwise;
  }

  /// HIP's `ptr` is the memory for a free alone: an allocation was called with the place where the address goes.
  [[nodiscard]] static Address freed_by(const TraceEvent& event) {
    if (!event.pointer) return 0;
    const auto api = find_api(event.name);
    return api && api->api == Api::free ? *event.pointer : 0;
  }

  /// What HIP says of the memory that a call is about, and CUDA's sync records of streams and events.
  void facts(const TraceEvent& event) {
    CallFacts facts;
    facts.key = key(event.correlation);
    facts.stream = small(event.stream, kUnknownStream);
    facts.object = event.cuda_event.value_or(0);
    facts.address = freed_by(event);
    facts.bytes = event.bytes.value_or(0);
    if (facts.stream != kUnknownStream || facts.object != 0 || facts.address != 0 || facts.bytes != 0)
      trace_.facts(facts);
    if (!event.record_correlation || facts.object == 0) return;
    CallFacts record;
    record.key = key(event.record_correlation);
    record.stream = small(event.record_stream, kUnknownStream);
    record.object = facts.object;
    trace_.facts(record);
  }

  void work(const TraceEvent& event, std::uint64_t start, std::uint64_t end) {
    TracedWork work;
    work.key = key(event.correlation);
    work.exec = small(event.graph, 0);
    WorkEvent& done = work.event;
    done.start_ns = start;
    done.end_ns = end;
    done.process = 1;
    done.device = small(event.device, 0);
    done.stream = small(event.stream, kUnknownStream);
    done.graph_node = event.graph_node.value_or(0);
    done.bytes = event.bytes.value_or(0);
    done.name = trace_.name(event.name);
    done.kind = event.kind == EventKind::kernel ? WorkKind::kernel
                : event.kind == EventKind::copy ? WorkKind::copy
                                                : WorkKind::fill;
    if (event.kind == EventKind::copy) read_copy_name(event.name, done);
    if (done.direction == CopyDirection::other) done.direction = direction_of(event.copy_kind);
    trace_.work(work);
  }

  const std::string& path_;
  RecordSink& sink_;
  JsonScanner json_;
  TraceAssembly trace_;
  std::uint64_t bad_ = 0;
};

}  // namespace

void read_kineto(const std::string& path, RecordSink& sink, const ReadProgress& progress) {
  Reading(path, sink, progress).run();
}

bool looks_like_kineto(std::string_view head) {
  const std::size_t first = head.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos || (head[first] != '{' && head[first] != '[')) return false;
  const auto has = [&](const char* word) { return head.find(word) != std::string_view::npos; };
  if (has("\"refrain.")) return false;
  return has("\"traceEvents\"") || has("\"schemaVersion\"") || (head[first] == '[' && has("\"ph\""));
}

}  // namespace refrain
