#include "traces/record_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>

#include "graphs/readers.hpp"
#include "traces/cut_steps.hpp"
#include "traces/words.hpp"

namespace refrain {
namespace {

/// Bytes that are no UTF-8 become U+FFFD: a name from another program must not make the line unreadable.
std::string json_string(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

/// One line under way: `{"type":"call","seq":7` ...
class Line {
 public:
  explicit Line(const char* type) { put(R"({{"type":"{}")", type); }

  void number(const char* key, std::uint64_t value) { put(R"(,"{}":{})", key, value); }
  void number_unless_0(const char* key, std::uint64_t value) {
    if (value != 0) number(key, value);
  }
  void address(const char* key, Address value) {
    if (value != 0) put(R"(,"{}":"0x{:x}")", key, value);
  }
  void text(const char* key, std::string_view value) {
    if (!value.empty()) put(R"(,"{}":{})", key, json_string(value));
  }
  void word(const char* key, const char* value) { put(R"(,"{}":"{}")", key, value); }
  void flag(const char* key, bool value) { put(R"(,"{}":{})", key, value); }
  void integer_unless_0(const char* key, std::int32_t value) {
    if (value != 0) put(R"(,"{}":{})", key, value);
  }
  void real_unless_0(const char* key, double value) {
    if (std::isfinite(value)) {
      if (value != 0) put(R"(,"{}":{})", key, value);
    } else {
      word(key, std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf");
    }
  }
  void raw(const char* key, std::string_view json) { put(R"(,"{}":{})", key, json); }

  [[nodiscard]] std::string take() && { return std::move(line_ += "}\n"); }

 private:
  template <class... Args>
  void put(fmt::format_string<Args...> form, Args&&... args) {
    fmt::format_to(std::back_inserter(line_), form, std::forward<Args>(args)...);
  }

  std::string line_;
};

/// The pretty form has line ends between its parts only: inside a string they are escaped.
std::string on_one_line(std::string_view json) {
  std::string line;
  line.reserve(json.size());
  while (!json.empty()) {
    const std::size_t end = json.find('\n');
    line += json.substr(0, end);
    json.remove_prefix(end == std::string_view::npos ? json.size() : end + 1);
    json.remove_prefix(std::min(json.size(), json.find_first_not_of(' ')));
  }
  return line;
}

}  // namespace

std::string header_text(const RecordingHeader& header) {
  const DeviceLine& device = header.device;
  const std::string steps =
      header.step_basis == StepBasis::marked ? "" : fmt::format(R"(,"steps":"{}")", word_of(header.step_basis));
  return fmt::format(
      "{{\"schema\":\"refrain.recording/1\",\"name\":{},"
      "\"device\":{{\"kind\":{},\"device\":{},\"driver\":{},\"toolkit\":{}}}{}}}\n",
      json_string(header.name), json_string(device.kind), json_string(device.device), json_string(device.driver),
      json_string(device.toolkit), steps);
}

std::string call_text(const ApiEvent& event, std::string_view detail) {
  Line line("call");
  line.number("seq", event.sequence);
  line.word("api", word_of(event.api));
  line.number_unless_0("t0", event.start_ns);
  if (event.end_ns != event.start_ns) line.number("t1", event.end_ns);
  line.number_unless_0("thread", event.thread);
  line.number_unless_0("stream", event.stream);
  line.integer_unless_0("code", event.code);
  line.number_unless_0("object", event.object);
  line.number_unless_0("made", event.made);
  line.address("address", event.address);
  line.address("source", event.source);
  line.number_unless_0("bytes", event.bytes);
  line.number_unless_0("capture", event.capture);
  if (event.mode != CaptureMode::global) line.word("mode", word_of(event.mode));
  if (event.target != Target::none) line.word("target", word_of(event.target));
  if (event.space != MemorySpace::unknown) line.word("space", to_string(event.space));
  if (event.source_space != MemorySpace::unknown) line.word("source_space", to_string(event.source_space));
  line.text("detail", detail);
  return std::move(line).take();
}

std::string range_text(const RangeEvent& event, std::string_view name) {
  Line line("range");
  line.number("first", event.first);
  line.number("last", event.last);
  line.number_unless_0("t0", event.start_ns);
  if (event.end_ns != event.start_ns) line.number("t1", event.end_ns);
  line.number_unless_0("thread", event.thread);
  line.text("name", name);
  if (event.step) line.flag("step", true);
  if (event.rows.real != RowCounts::kNotTold) line.number("rows", event.rows.real);
  if (event.rows.bucket != RowCounts::kNotTold) line.number("bucket", event.rows.bucket);
  return std::move(line).take();
}

std::string buffer_text(const Buffer& buffer) {
  Line line("buffer");
  line.text("name", buffer.name);
  line.address("base", buffer.base);
  line.number_unless_0("bytes", buffer.bytes);
  line.word("space", to_string(buffer.space));
  line.word("dtype", to_string(buffer.dtype));
  line.word("role", to_string(buffer.role));
  line.number_unless_0("allocation", buffer.allocation);
  if (buffer.born) line.number("born", *buffer.born);
  if (buffer.died) line.number("died", *buffer.died);
  if (!buffer.reserved.empty())
    line.raw("reserved", fmt::format("[{},{}]", buffer.reserved.begin, buffer.reserved.end));
  if (buffer.shared) line.flag("shared", true);
  return std::move(line).take();
}

std::string graph_text(const Graph& graph, std::optional<GraphTie> tie) {
  Line line("graph");
  if (tie) {
    line.number("seq", tie->sequence);
    line.number("handle", tie->handle);
  }
  line.raw("graph", on_one_line(write_graph_json(graph)));
  return std::move(line).take();
}

std::string binding_text(const BindingEvent& event, std::string_view name) {
  Line line("binding");
  line.number("seq", event.sequence);
  line.text("name", name);
  line.address("address", event.address);
  line.number_unless_0("bytes", event.bytes);
  return std::move(line).take();
}

std::string check_text(const ReplayCheck& check, std::string_view graph, std::string_view axis, std::string_view fill) {
  Line line("check");
  line.number("seq", check.sequence);
  line.word("kind", word_of(check.kind));
  line.text("graph", graph);
  line.text("axis", axis);
  line.text("fill", fill);
  line.flag("finite", check.finite);
  line.flag("bit_equal", check.bit_equal);
  line.real_unless_0("max_abs_error", check.max_abs_error);
  line.real_unless_0("tolerance", check.tolerance);
  if (check.first_nan_node) line.number("first_nan_node", *check.first_nan_node);
  return std::move(line).take();
}

std::string limit_text(const EvidenceLimit& limit) {
  Line line("limit");
  line.text("name", limit.name);
  line.text("sentence", limit.sentence);
  line.number_unless_0("count", limit.count);
  return std::move(line).take();
}

std::string end_text(std::uint64_t records) {
  Line line("end");
  line.number("records", records);
  return std::move(line).take();
}

}  // namespace refrain
