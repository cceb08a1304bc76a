#include "traces/kineto/event_stream.hpp"

#include <charconv>

namespace refrain {
namespace {

constexpr std::size_t kMaxDepth = 64;

/// HIP writes addresses as text: `0x7f1468400000`.
std::optional<std::uint64_t> hexadecimal(std::string_view text) {
  std::uint64_t value = 0;
  if (!text.starts_with("0x")) return std::nullopt;
  const auto [end, code] = std::from_chars(text.data() + 2, text.data() + text.size(), value, 16);
  if (code != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

void EventStream::number(double value, std::uint64_t whole, const std::string& text) {
  ++tokens_;
  if (in_event()) {
    if (key_ == "ts") event_.ts = value;
    if (key_ == "dur") event_.duration = value;
    if (key_ == "pid") event_.pid = text;
    if (key_ == "tid") event_.tid = text;
  } else if (in_args() && value >= 0) {
    if (key_ == "correlation") event_.correlation = whole;
    if (key_ == "device") event_.device = whole;
    if (key_ == "stream") event_.stream = whole;
    if (key_ == "bytes" || key_ == "size") event_.bytes = whole;
    if (key_ == "graph id") event_.graph = whole;
    if (key_ == "graph node id") event_.graph_node = whole;
  }
}

bool EventStream::number_integer(number_integer_t value) {
  number(static_cast<double>(value), static_cast<std::uint64_t>(value), std::to_string(value));
  return true;
}

bool EventStream::number_unsigned(number_unsigned_t value) {
  number(static_cast<double>(value), value, std::to_string(value));
  return true;
}

bool EventStream::number_float(number_float_t value, const string_t& text) {
  number(value, 0, text);
  return true;
}

bool EventStream::string(string_t& value) {
  ++tokens_;
  if (in_event()) {
    if (key_ == "ph") event_.phase = value;
    if (key_ == "cat") event_.category = value;
    if (key_ == "name") event_.name = value;
    if (key_ == "pid") event_.pid = value;
    if (key_ == "tid") event_.tid = value;
  } else if (in_args() && key_ == "ptr") {
    event_.pointer = hexadecimal(value);
  }
  return true;
}

bool EventStream::start_object(std::size_t) {
  if (in_event()) args_ = key_ == "args";
  ++depth_;
  if (in_event()) event_.clear();
  return depth_ <= kMaxDepth;
}

bool EventStream::key(string_t& name) {
  ++tokens_;
  key_ = name;
  return true;
}

bool EventStream::end_object() {
  if (in_event()) use_(event_);
  --depth_;
  if (in_event()) args_ = false;
  return true;
}

bool EventStream::start_array(std::size_t) {
  if (in_event()) args_ = false;
  ++depth_;
  if (list_depth_ == 0 && (depth_ == 1 || (depth_ == 2 && key_ == "traceEvents"))) {
    list_depth_ = depth_;
    found_ = true;
  }
  return depth_ <= kMaxDepth;
}

bool EventStream::end_array() {
  if (list_depth_ == depth_) list_depth_ = 0;
  --depth_;
  return true;
}

bool EventStream::parse_error(std::size_t at, const std::string& last, const nlohmann::json::exception&) {
  error_at_ = at;
  error_ = last;
  return false;
}

}  // namespace refrain
