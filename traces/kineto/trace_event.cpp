#include "traces/kineto/trace_event.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "graphs/text.hpp"

namespace refrain {
namespace {

struct Category {
  std::string_view name;
  EventKind kind;
  bool operators = false;  ///< among which, in old traces, the profiler's steps stand
};

constexpr std::array kCategories = {
    Category{"cpu_op", EventKind::range, true},   Category{"kernel", EventKind::kernel},
    Category{"cuda_runtime", EventKind::call},    Category{"cuda_driver", EventKind::call},
    Category{"gpu_memcpy", EventKind::copy},      Category{"gpu_memset", EventKind::fill},
    Category{"cuda_sync", EventKind::sync},       Category{"user_annotation", EventKind::range},
    Category{"hip_runtime", EventKind::call},     Category{"hip_driver", EventKind::call},
    Category{"Kernel", EventKind::kernel},        Category{"Runtime", EventKind::call},
    Category{"Memcpy", EventKind::copy},          Category{"Memset", EventKind::fill},
    Category{"UserAnnotation", EventKind::range}, Category{"Operator", EventKind::range, true},
};
constexpr Category kOther{"", EventKind::other};

const Category& category_of(std::string_view name) noexcept {
  for (const Category& category : kCategories)
    if (category.name == name) return category;
  return kOther;
}

MemorySpace space_of(std::string_view word) noexcept {
  if (word == "Pageable") return MemorySpace::pageable;
  if (word == "Pinned") return MemorySpace::pinned;
  if (word == "Device" || word == "Array") return MemorySpace::device;
  if (word == "Managed") return MemorySpace::managed;
  return MemorySpace::unknown;  // HIP says `Host`, which may be either
}

std::optional<std::uint64_t>* whole_number(TraceEvent& event, std::string_view key) noexcept {
  if (key == "correlation") return &event.correlation;
  if (key == "stream") return &event.stream;
  if (key == "device") return &event.device;
  if (key == "bytes" || key == "size") return &event.bytes;
  if (key == "graph node id") return &event.graph_node;
  if (key == "graph id") return &event.graph;
  if (key == "wait_on_cuda_event_id") return &event.cuda_event;
  if (key == "wait_on_cuda_event_record_corr_id") return &event.record_correlation;
  if (key == "wait_on_stream") return &event.record_stream;
  if (key == "ptr") return &event.pointer;  // HIP writes addresses as text: `0x7f1468400000`
  return nullptr;
}

void read_args(JsonScanner& json, TraceEvent& event) {
  std::string rows;
  while (json.next() == Token::key) {
    std::optional<std::uint64_t>* number = whole_number(event, json.text());
    const bool copy_kind = json.text() == "kind";
    rows.assign(RowPayload::knows(json.text()) ? json.text() : std::string_view());
    const Token value = json.next();
    if (value == Token::begin_object || value == Token::begin_array)
      json.skip_rest();
    else if (number != nullptr)
      *number = parse_unsigned(json.text());
    else if (copy_kind)
      event.copy_kind = json.text();
    else if (!rows.empty())
      event.rows.take(rows, json.text());
  }
}

/// A field of the event itself, but its args.
void read_field(TraceEvent& event, std::string_view key, std::string_view value) {
  if (key == "name") event.name = value;
  if (key == "pid") event.pid = value;
  if (key == "tid") event.tid = value;
  if (key == "ts") event.start_ns = ns_of(value);
  if (key == "dur") event.duration_ns = ns_of(value);
}

void clear(TraceEvent& event) {
  event.kind = EventKind::other;
  event.name.clear();
  event.pid.clear();
  event.tid.clear();
  event.copy_kind.clear();
  event.rows = {};
  event.start_ns = event.duration_ns = event.correlation = event.device = event.stream = event.bytes = event.graph =
      event.graph_node = event.pointer = event.cuda_event = event.record_correlation = event.record_stream =
          std::nullopt;
}

/// As far as the fields are known: it may be one that the reader has no use for.
bool is_other(const Category* category, bool complete, const TraceEvent& event) {
  if (!complete || category == &kOther) return true;
  return category != nullptr && category->operators && !event.name.empty() && !event.name.starts_with("ProfilerStep#");
}

}  // namespace

void read_event(JsonScanner& json, TraceEvent& event) {
  clear(event);
  const Category* category = nullptr;
  bool complete = true;  // until its phase says otherwise: `X` is an event with a duration
  bool has_phase = false;
  std::string key;
  while (json.next() == Token::key) {
    key = json.text();
    const Token value = json.next();
    if (value == Token::begin_object || value == Token::begin_array) {
      key == "args" && value == Token::begin_object ? read_args(json, event) : json.skip_rest();
      continue;
    }
    if (key == "ph") {
      has_phase = true;
      complete = json.text() == "X";
    } else if (key == "cat") {
      category = &category_of(json.text());
    } else {
      read_field(event, key, json.text());
    }
    if (is_other(category, complete, event)) return json.skip_rest();
  }
  if (has_phase && category != nullptr) event.kind = category->kind;
}

std::optional<std::uint64_t> ns_of(std::string_view microseconds) noexcept {
  constexpr std::uint64_t kMost = 4'000'000'000'000'000;
  // By its digits: a double that holds a date in microseconds has none left for the nanoseconds.
  const std::size_t point = std::min(microseconds.find('.'), microseconds.size());
  std::string_view digits = microseconds.substr(0, point), rest = microseconds.substr(point);
  const auto whole = parse_unsigned(digits);
  if (!whole || *whole > kMost || digits.starts_with("0x") || rest.find_first_of("eE") != std::string_view::npos) {
    double value = 0;  // `1e+6`
    const auto [end, code] = std::from_chars(microseconds.data(), microseconds.data() + microseconds.size(), value);
    if (code != std::errc() || end != microseconds.data() + microseconds.size()) return std::nullopt;
    if (!(value >= 0 && value <= static_cast<double>(kMost))) return std::nullopt;
    return static_cast<std::uint64_t>(std::llround(value * 1000));
  }
  if (!rest.empty()) rest.remove_prefix(1);
  std::uint64_t part = 0, scale = 100;
  for (const char c : rest) {
    if (c < '0' || c > '9') return std::nullopt;
    part += static_cast<std::uint64_t>(c - '0') * scale;
    scale /= 10;
  }
  return *whole * 1000 + part;
}

CopyDirection direction_of(std::string_view words) noexcept {
  const auto has = [&](const char* word) { return words.find(word) != std::string_view::npos; };
  return has("HtoD")   ? CopyDirection::h2d
         : has("DtoH") ? CopyDirection::d2h
         : has("DtoD") ? CopyDirection::d2d
         : has("HtoH") ? CopyDirection::h2h
                       : CopyDirection::other;
}

void read_copy_name(std::string_view name, WorkEvent& copy) noexcept {
  copy.direction = direction_of(name);
  const std::size_t open = name.find('('), arrow = name.find(" -> "), close = name.rfind(')');
  if (open == std::string_view::npos || arrow == std::string_view::npos || close == std::string_view::npos) return;
  if (arrow <= open || close <= arrow + 4) return;
  copy.source_space = space_of(name.substr(open + 1, arrow - open - 1));
  copy.space = space_of(name.substr(arrow + 4, close - arrow - 4));
}

}  // namespace refrain
