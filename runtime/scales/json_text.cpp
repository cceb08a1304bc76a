#include "runtime/scales/json_text.hpp"

#include <fmt/format.h>

#include <unordered_set>
#include <vector>

#include "graphs/error.hpp"
#include "graphs/text.hpp"

namespace refrain {
namespace {

using nlohmann::json;

constexpr int kDeepest = 64;

/// What the parser tells on its way, refused before the document grows.
class Watch {
 public:
  Watch(const std::string& file, const std::string& part) : file_(file), part_(part) {}

  bool operator()(int depth, json::parse_event_t event, const json& value) {
    using Event = json::parse_event_t;
    if (event == Event::object_start) keys_.emplace_back();
    if (event == Event::object_end) keys_.pop_back();
    if ((event == Event::object_start || event == Event::array_start) && depth >= kDeepest)
      fail(fmt::format("expected at most {} brackets inside each other, found more; write it flat", kDeepest));
    if (event == Event::key && !keys_.back().insert(value.get<std::string>()).second)
      fail(fmt::format("expected each key once, found \"{}\" twice in one object; drop one of the two",
                       value.get<std::string>()));
    return true;
  }

 private:
  [[noreturn]] void fail(const std::string& sentence) const {
    throw Error(ErrorKind::input, std::string(trim(part_)), sentence, file_);
  }

  const std::string& file_;
  const std::string& part_;
  std::vector<std::unordered_set<std::string>> keys_;  // of each open object
};

}  // namespace

json parse_json(std::string_view text, const std::string& file, const std::string& part) {
  const auto fail_at = [&](std::size_t byte, const std::string& sentence) {
    throw Error(ErrorKind::input, fmt::format("{}byte {}", part, byte), sentence, file);
  };
  if (trim(text).empty()) fail_at(0, "expected a JSON object, found nothing; write the file again");
  Watch watch(file, part);
  try {
    return json::parse(
        text, [&watch](int depth, json::parse_event_t event, json& value) { return watch(depth, event, value); });
  } catch (const json::parse_error& error) {
    if (error.byte > text.size())
      fail_at(text.size(), "expected more JSON, found the end; it is cut short, write it again");
    fail_at(error.byte, "expected JSON, found a syntax error; mend this byte or write the file again");
  } catch (const json::exception&) {
    throw Error(ErrorKind::input, std::string(trim(part)),
                "expected finite numbers, found one that no number type holds; mend it", file);
  }
  return {};
}

json read_json(const InputFile& file) {
  return parse_json(file.read_all(kLongestJson), file.path());
}

}  // namespace refrain
