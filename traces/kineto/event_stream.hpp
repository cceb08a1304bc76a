// Takes a Chrome trace apart as its JSON goes by: nlohmann's SAX interface, one
// event at a time, nothing kept of what no reader asks for (stacks, shapes).
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "traces/kineto/trace_event.hpp"

namespace refrain {

class EventStream final : public nlohmann::json_sax<nlohmann::json> {
 public:
  /// `use` is given each whole event of traceEvents, or of the array that is the whole text.
  explicit EventStream(std::function<void(const TraceEvent&)> use) : use_(std::move(use)) {}

  /// The text has, or is, a list of events.
  [[nodiscard]] bool found_events() const noexcept { return found_; }
  /// Where the JSON went wrong, and how; empty while it has not.
  [[nodiscard]] const std::string& error() const noexcept { return error_; }
  [[nodiscard]] std::uint64_t error_at() const noexcept { return error_at_; }

  /// Rises by one a value or name.
  [[nodiscard]] const std::uint64_t& tokens() const noexcept { return tokens_; }

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t value) override;
  bool number_unsigned(number_unsigned_t value) override;
  bool number_float(number_float_t value, const string_t& text) override;
  bool string(string_t& value) override;
  bool binary(binary_t&) override { return true; }
  bool start_object(std::size_t) override;
  bool key(string_t& name) override;
  bool end_object() override;
  bool start_array(std::size_t) override;
  bool end_array() override;
  bool parse_error(std::size_t at, const std::string& last, const nlohmann::json::exception& error) override;

 private:
  [[nodiscard]] bool in_event() const noexcept { return list_depth_ != 0 && depth_ == list_depth_ + 1; }
  [[nodiscard]] bool in_args() const noexcept { return list_depth_ != 0 && depth_ == list_depth_ + 2 && args_; }
  void number(double value, std::uint64_t whole, const std::string& text);

  std::function<void(const TraceEvent&)> use_;
  TraceEvent event_;
  std::string key_, error_;
  std::uint64_t error_at_ = 0, tokens_ = 0;
  std::size_t depth_ = 0;       // open objects and arrays
  std::size_t list_depth_ = 0;  // of the list of events while it is open
  bool args_ = false, found_ = false;
};

}  // namespace refrain
