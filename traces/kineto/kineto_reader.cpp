#include "traces/kineto/kineto_reader.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <cstddef>
#include <iterator>

#include "graphs/error.hpp"
#include "traces/byte_source.hpp"
#include "traces/kineto/event_stream.hpp"
#include "traces/trace_assembly.hpp"

namespace refrain {
namespace {

constexpr std::size_t kChunk = std::size_t{64} << 10;
constexpr std::size_t kMaxSilentChunks = 256;  // 16 MiB without one JSON token: no trace has such a text

/// The text, chunk by chunk. It ends where JSON stops making tokens, so that one endless string takes no memory.
struct Feed {
  ByteSource bytes;
  const std::uint64_t& tokens;
  std::string chunk = std::string(kChunk, '\0');
  std::size_t at = 0, filled = 0, silent = 0;
  std::uint64_t last_tokens = 0;
  bool endless = false;

  Feed(const std::string& path, const std::uint64_t& token_count) : bytes(path), tokens(token_count) { refill(); }

  void refill() {
    silent = tokens == last_tokens ? silent + 1 : 0;
    last_tokens = tokens;
    endless = silent > kMaxSilentChunks;
    at = 0;
    filled = endless ? 0 : bytes.read(chunk);
  }
  void next() {
    if (++at == filled) refill();
  }
  [[nodiscard]] bool done() const { return filled == 0; }
};

class FeedIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  FeedIterator() = default;
  explicit FeedIterator(Feed& feed) : feed_(&feed) {}
  reference operator*() const { return feed_->chunk[feed_->at]; }
  FeedIterator& operator++() {
    feed_->next();
    return *this;
  }
  void operator++(int) { feed_->next(); }
  friend bool operator==(const FeedIterator& a, const FeedIterator& b) { return a.done() == b.done(); }
  friend bool operator!=(const FeedIterator& a, const FeedIterator& b) { return !(a == b); }

 private:
  [[nodiscard]] bool done() const { return feed_ == nullptr || feed_->done(); }
  Feed* feed_ = nullptr;
};

/// Whole microseconds and their rest apart: a date in microseconds leaves a double no digits for nanoseconds.
std::optional<std::uint64_t> ns_of(const std::optional<double>& us) {
  if (!us || !(*us >= 0) || *us > 4e15) return std::nullopt;
  const double whole = std::floor(*us);
  return static_cast<std::uint64_t>(whole) * 1000 + static_cast<std::uint64_t>(std::llround((*us - whole) * 1000));
}

class Reading {
 public:
  Reading(const std::string& path, RecordSink& sink) : path_(path), sink_(sink) {}

  void run() {
    EventStream stream([this](const TraceEvent& event) { take(event); });
    Feed feed(path_, stream.tokens());
    const bool whole = nlohmann::json::sax_parse(FeedIterator(feed), FeedIterator(), &stream);
    if (!whole) refuse(stream, feed);
    if (!stream.found_events())
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
  [[noreturn]] void refuse(const EventStream& stream, const Feed& feed) const {
    const char* found = feed.endless           ? "a text of over 16 MiB"
                        : feed.bytes.corrupt() ? "damaged gzip data"
                        : feed.done()          ? "the end of the file"
                                               : "what is no JSON, or nests over 64 deep";
    throw Error(
        ErrorKind::input, fmt::format("byte {}{}", stream.error_at(), feed.bytes.gzip() ? " of the unpacked text" : ""),
        fmt::format("expected the JSON of a PyTorch profiler trace to go on, found {}; export the trace again", found),
        path_);
  }

  void take(const TraceEvent& event) {
    const EventKind kind = kind_of(event);
    if (kind == EventKind::other) return;
    const auto start = ns_of(event.ts), duration = ns_of(event.duration);
    if (!start || !duration) {
      ++bad_;
      return;
    }
    const std::uint64_t end = *start + *duration;
    if (kind == EventKind::call) {
      trace_.call({*start, end, key(event), thread(event), trace_.name(event.name), 0});
      facts(event);
    } else if (kind == EventKind::range) {
      trace_.range({*start, end, thread(event), trace_.name(event.name)});
    } else if (kind == EventKind::sync) {
      facts(event);
    } else {
      work(event, kind, *start, end);
    }
  }

  /// A trace is of one process; device events name the device where others name it.
  [[nodiscard]] static CorrelationKey key(const TraceEvent& event) {
    return {1, static_cast<std::uint32_t>(event.correlation.value_or(0))};
  }

  std::uint64_t number_of(const std::string& id) {
    std::uint64_t value = 0;
    const auto [end, code] = std::from_chars(id.data(), id.data() + id.size(), value);
    if (code == std::errc() && end == id.data() + id.size()) return value;
    return std::uint64_t{1} << 40 | trace_.name(id);
  }

  std::uint32_t thread(const TraceEvent& event) { return trace_.thread(number_of(event.pid), number_of(event.tid)); }

  [[nodiscard]] static std::uint32_t small(const std::optional<std::uint64_t>& id, std::uint32_t otherwise) {
    return id && *id < kUnknownStream ? static_cast<std::uint32_t>(*id) : otherwise;
  }

  void facts(const TraceEvent& event) {
    if (!event.stream && !event.pointer) return;
    CallFacts facts;
    facts.key = key(event);
    facts.stream = small(event.stream, kUnknownStream);
    facts.address = event.pointer.value_or(0);
    facts.bytes = event.bytes.value_or(0);
    trace_.facts(facts);
  }

  void work(const TraceEvent& event, EventKind kind, std::uint64_t start, std::uint64_t end) {
    TracedWork work;
    work.key = key(event);
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
    done.kind = kind == EventKind::kernel ? WorkKind::kernel
                : kind == EventKind::copy ? WorkKind::copy
                                          : WorkKind::fill;
    if (kind == EventKind::copy) read_copy_name(event.name, done);
    trace_.work(work);
  }

  const std::string& path_;
  RecordSink& sink_;
  TraceAssembly trace_;
  std::uint64_t bad_ = 0;
};

}  // namespace

void read_kineto(const std::string& path, RecordSink& sink) {
  Reading(path, sink).run();
}

bool looks_like_kineto(std::string_view head) {
  const std::size_t first = head.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos || (head[first] != '{' && head[first] != '[')) return false;
  const auto has = [&](const char* word) { return head.find(word) != std::string_view::npos; };
  if (has("\"refrain.")) return false;
  return has("\"traceEvents\"") || has("\"schemaVersion\"") || (head[first] == '[' && has("\"ph\""));
}

}  // namespace refrain
