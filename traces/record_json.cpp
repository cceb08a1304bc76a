#include "traces/record_json.hpp"

#include <fmt/format.h>

#include <array>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "graphs/error.hpp"
#include "graphs/json_parts.hpp"
#include "graphs/readers.hpp"
#include "graphs/text.hpp"
#include "traces/cut_steps.hpp"
#include "traces/words.hpp"

namespace refrain {
namespace {

constexpr std::string_view kSchema = "refrain.recording/1";

template <class Enum>
void read_own_word(FlatRecord& record, const char* key, Enum& out, std::string_view expected) {
  const auto text = record.text(key);
  if (!text) return;
  const auto value = find_word<Enum>(*text);
  if (!value) record.fail(key, expected, "correct its spelling");
  out = *value;
}

template <class Enum>
void read_graph_word(FlatRecord& record, const char* key, Enum& out) {
  const auto text = record.text(key);
  if (!text) return;
  const auto value = from_word<Enum>(*text);
  if (!value) record.fail(key, fmt::format("one of {}", all_words<Enum>()), "use one of these words");
  out = *value;
}

void need(const FlatRecord& record, const char* key, std::string_view expected) {
  if (!record.has(key)) record.fail(key, expected, "add it");
}

void read_place(FlatRecord& record, const char* key, Address& out) {
  if (const auto address = record.address(key)) out = *address;
}

std::string_view text_or_empty(FlatRecord& record, const char* key) {
  return record.text(key).value_or(std::string_view());
}

/// Sequence numbers and times: the second of a pair is not before the first, and equals it when it is left out.
void read_span(FlatRecord& record, const char* first_key, const char* last_key, std::uint64_t& first,
               std::uint64_t& last) {
  record.read(first_key, first);
  last = first;
  record.read(last_key, last);
  if (last < first) record.fail(last_key, fmt::format("at least {} of {}", first_key, first), "correct one of the two");
}

void read_call(FlatRecord& record, RecordSink& sink) {
  ApiEvent event;
  need(record, "seq", "a sequence number");
  need(record, "api", "the name of a call");
  record.read("seq", event.sequence);
  read_own_word(record, "api", event.api, "the name of a call, like stream_synchronize");
  read_span(record, "t0", "t1", event.start_ns, event.end_ns);
  record.read("thread", event.thread);
  record.read("stream", event.stream);
  if (const auto code = record.signed_integer("code")) event.code = *code;
  record.read("object", event.object);
  record.read("made", event.made);
  read_place(record, "address", event.address);
  read_place(record, "source", event.source);
  record.read("bytes", event.bytes);
  record.read("capture", event.capture);
  read_own_word(record, "mode", event.mode, "one of global, thread_local, relaxed");
  read_own_word(record, "target", event.target, "what a call is aimed at, like capturing or other");
  read_graph_word(record, "space", event.space);
  read_graph_word(record, "source_space", event.source_space);
  const std::string_view detail = text_or_empty(record, "detail");
  record.check_all_known("a call");
  sink.call(event, detail);
}

void read_range(FlatRecord& record, RecordSink& sink) {
  RangeEvent event;
  need(record, "first", "a sequence number");
  read_span(record, "first", "last", event.first, event.last);
  read_span(record, "t0", "t1", event.start_ns, event.end_ns);
  record.read("thread", event.thread);
  const std::string_view name = text_or_empty(record, "name");
  event.step = record.boolean("step").value_or(false);
  record.read("rows", event.rows.real);
  record.read("bucket", event.rows.bucket);
  record.check_all_known("a range");
  sink.range(event, name);
}

void read_buffer(FlatRecord& record, RecordSink& sink) {
  Buffer buffer;
  buffer.name = text_or_empty(record, "name");
  read_place(record, "base", buffer.base);
  record.read("bytes", buffer.bytes);
  if (buffer.bytes != 0 && buffer.base > std::numeric_limits<Address>::max() - (buffer.bytes - 1))
    record.fail("bytes", "a buffer that ends below 2^64", "correct its base or its size");
  read_graph_word(record, "space", buffer.space);
  read_graph_word(record, "dtype", buffer.dtype);
  read_graph_word(record, "role", buffer.role);
  record.read("allocation", buffer.allocation);
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
  buffer.born = record.integer("born", kMost);
  buffer.died = record.integer("died", kMost);
  if (buffer.born && buffer.died && *buffer.died < *buffer.born)
    record.fail("died", fmt::format("at least born of {}", *buffer.born), "correct one of the two");
  buffer.reserved = record.range("reserved").value_or(ByteRange{});
  if (buffer.bytes != 0 && buffer.reserved.end > buffer.bytes)
    record.fail("reserved", fmt::format("a range inside the {} bytes of the buffer", buffer.bytes),
                "shorten the range");
  buffer.shared = record.boolean("shared").value_or(false);
  record.check_all_known("a buffer");
  sink.buffer(buffer);
}

void read_graph(FlatRecord& record, RecordSink& sink) {
  need(record, "graph", "a refrain.graph/1 object");
  std::optional<GraphTie> tie;
  if (record.has("handle")) need(record, "seq", "the sequence number that goes with the handle");
  if (record.has("seq")) {
    record.read("seq", tie.emplace().sequence);
    record.read("handle", tie->handle);
  }
  const std::string_view text = *record.graph();
  record.check_all_known("a graph record");
  sink.graph(read_graph_json(text, "graph"), tie);
}

void read_binding(FlatRecord& record, RecordSink& sink) {
  BindingEvent event;
  need(record, "seq", "a sequence number");
  need(record, "name", "the input's name");
  need(record, "address", "where the input stands from here on");
  record.read("seq", event.sequence);
  const std::string_view name = text_or_empty(record, "name");
  read_place(record, "address", event.address);
  record.read("bytes", event.bytes);
  record.check_all_known("a binding");
  sink.binding(event, name);
}

void read_check(FlatRecord& record, RecordSink& sink) {
  ReplayCheck check;
  need(record, "seq", "a sequence number");
  need(record, "kind", "one of poison, repeat, eager");
  record.read("seq", check.sequence);
  read_own_word(record, "kind", check.kind, "one of poison, repeat, eager");
  const std::string_view graph = text_or_empty(record, "graph");
  const std::string_view axis = text_or_empty(record, "axis");
  const std::string_view fill = text_or_empty(record, "fill");
  check.finite = record.boolean("finite").value_or(check.finite);
  check.bit_equal = record.boolean("bit_equal").value_or(check.bit_equal);
  check.max_abs_error = record.real("max_abs_error").value_or(check.max_abs_error);
  check.tolerance = record.real("tolerance").value_or(check.tolerance);
  if (const auto node = record.integer("first_nan_node", std::numeric_limits<NodeId>::max()))
    check.first_nan_node = static_cast<NodeId>(*node);
  record.check_all_known("a check");
  sink.check(check, graph, axis, fill);
}

void read_limit(FlatRecord& record, RecordSink& sink) {
  EvidenceLimit limit;
  need(record, "name", "what limits the recording, in kebab case");
  limit.name = text_or_empty(record, "name");
  limit.sentence = text_or_empty(record, "sentence");
  record.read("count", limit.count);
  record.check_all_known("a limit");
  sink.limit(limit);
}

constexpr std::array<RecordType, 7> kTypes{{
    {.name = "call", .read = read_call},
    {.name = "range", .read = read_range},
    {.name = "buffer", .read = read_buffer},
    {.name = "graph", .read = read_graph},
    {.name = "binding", .read = read_binding},
    {.name = "check", .read = read_check},
    {.name = "limit", .read = read_limit},
}};

nlohmann::json parse_header(std::string_view line, const std::string& file) {
  nlohmann::json header = nlohmann::json::parse(line, nullptr, false);
  if (!header.is_object() || !header.contains("schema") || !header["schema"].is_string())
    throw Error(ErrorKind::input, "byte 0",
                fmt::format("expected {{\"schema\":\"{}\", ...}} as the first line, found {}; record again", kSchema,
                            excerpt(line)),
                file);
  return header;
}

}  // namespace

const RecordType* find_record_type(std::string_view name) {
  for (const RecordType& type : kTypes)
    if (name == type.name) return &type;
  return nullptr;
}

RecordingHeader read_recording_header(std::string_view line, const std::string& file) {
  const nlohmann::json root = parse_header(line, file);
  const JsonView view(root, file);
  const JsonView schema = view.need("schema");
  if (schema.text() != kSchema)
    schema.fail(fmt::format("\"{}\"", kSchema), "read the file with a version that knows its schema");
  view.check_object("a header", {"schema", "name", "device", "steps"});
  RecordingHeader header;
  read_text(view, "name", header.name);
  if (const auto device = view.find("device")) {
    device->check_object("a device", {"kind", "device", "driver", "toolkit"});
    read_text(*device, "kind", header.device.kind);
    read_text(*device, "device", header.device.device);
    read_text(*device, "driver", header.device.driver);
    read_text(*device, "toolkit", header.device.toolkit);
  }
  if (const auto steps = view.find("steps")) {
    const auto basis = find_word<StepBasis>(steps->text());
    if (!basis) steps->fail("a word for how steps became known, such as \"replay\"", "read it with a newer version");
    header.step_basis = *basis;
  }
  return header;
}

std::optional<std::uint64_t> read_end_record(FlatRecord& record) {
  const auto records = record.integer("records", std::numeric_limits<std::uint64_t>::max());
  record.check_all_known("the end");
  return records;
}

bool is_recording_header(std::string_view line) noexcept {
  line = line.substr(0, line.find('\n'));
  constexpr std::string_view kKey = "\"schema\"";
  constexpr std::string_view kFamily = "\"refrain.recording/";
  for (std::size_t at = line.find(kKey); at != std::string_view::npos; at = line.find(kKey)) {
    line.remove_prefix(at + kKey.size());
    std::string_view value = trim(line);
    if (!value.starts_with(':')) continue;
    value.remove_prefix(1);
    if (trim(value).starts_with(kFamily)) return true;
  }
  return false;
}

}  // namespace refrain
