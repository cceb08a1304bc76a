// A place inside a JSON document that knows its path, so that every complaint
// names the file and the path: `step.json: nodes[3].name: expected ...`. It
// checks kinds and ranges and converts; it knows nothing of graphs. A view
// points at its parent, so a child must not outlive the view it came from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "graphs/contract.hpp"
#include "graphs/words.hpp"

namespace refrain {

/// Sizes and offsets lie below this, so that they stay exact in every reader's signed 64-bit integer.
inline constexpr std::uint64_t kSizeLimit = std::uint64_t{1} << 63;

class JsonView {
 public:
  JsonView(const nlohmann::json& value, const std::string& file) : value_(&value), file_(&file) {}

  /// Throws Error{input}: `file: path: expected <expected>, found <this value>; <fix>`.
  [[noreturn]] void fail(std::string_view expected, std::string_view fix) const;

  /// This is an object with no other keys than these; `what` is for the message, e.g. `a node`.
  void check_object(std::string_view what, std::initializer_list<const char*> keys) const;
  [[nodiscard]] std::optional<JsonView> find(const char* key) const;
  [[nodiscard]] JsonView need(const char* key) const;  ///< throws where `find` gives nothing

  /// Calls use(key, value) over an object whose keys are data, such as the tensors of a file.
  template <class Use>
  void each_member(Use use) const {
    if (!value_->is_object()) fail("an object", "write it as {...}");
    for (auto it = value_->begin(); it != value_->end(); ++it)
      use(it.key(), JsonView(it.value(), *this, it.key().c_str(), 0));
  }

  [[nodiscard]] std::size_t array_size() const;  ///< throws unless this is an array
  [[nodiscard]] JsonView at(std::size_t index) const;

  [[nodiscard]] const std::string& text() const;
  [[nodiscard]] bool boolean() const;
  /// An integer in [0, below); `what` says of what, e.g. `a node id`.
  [[nodiscard]] std::uint64_t integer(std::string_view what, std::uint64_t below) const;
  [[nodiscard]] double number() const;  ///< an integer or not; always finite
  [[nodiscard]] std::uint64_t size() const { return integer("a size", kSizeLimit); }
  [[nodiscard]] Address address() const;                  ///< `"0x7f00"`
  [[nodiscard]] std::vector<std::uint8_t> bytes() const;  ///< `"00ff"`
  [[nodiscard]] ByteRange range() const;                  ///< `[begin, end]`

  template <class Enum>
  [[nodiscard]] Enum word() const {
    const std::optional<Enum> value = from_word<Enum>(text());
    if (!value) fail(fmt::format("one of {}", all_words<Enum>()), "use one of these words");
    return *value;
  }

 private:
  JsonView(const nlohmann::json& value, const JsonView& parent, const char* key, std::size_t index)
      : value_(&value), parent_(&parent), key_(key), index_(index), file_(parent.file_) {}
  [[nodiscard]] std::string path() const;
  [[nodiscard]] std::string found() const;

  const nlohmann::json* value_;
  const JsonView* parent_ = nullptr;
  const char* key_ = nullptr;  ///< null for an element of an array
  std::size_t index_ = 0;
  const std::string* file_;
};

}  // namespace refrain
