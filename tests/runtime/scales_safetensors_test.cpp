// Headers of safetensors files that are not what they say.
#include "runtime/scales/safetensors.hpp"

#include <fmt/format.h>

#include <limits>

#include "tests/catch.hpp"
#include "tests/runtime/scales_world.hpp"

using namespace refrain;
using namespace refrain::test;

namespace {

struct File {
  TestFolder folder;
  std::string path = (folder.path() / "x.safetensors").string();
  explicit File(const std::string& bytes) { write_bytes(path, bytes); }
};

void refused(const std::string& bytes, std::initializer_list<std::string> words) {
  const File file(bytes);
  check_fails([&] { const SafetensorsFile opened(file.path); }, ErrorKind::input, words);
}

void header_refused(const std::string& header, std::size_t data, std::initializer_list<std::string> words) {
  refused(safetensors_bytes(header, std::string(data, 'x')), words);
}

std::string length(std::uint64_t bytes) {
  std::string text;
  for (int i = 0; i < 8; ++i) text += static_cast<char>(bytes >> (8 * i));
  return text;
}

}  // namespace

TEST_CASE("safetensors: tensors and metadata of a sound file are read") {
  const File file(safetensors_bytes({{"w", "BF16", {2, 3}, std::string(12, 'w')},
                                     {"empty", "F32", {0, 7}, ""},
                                     {"packed", "F4", {6}, "abc"},
                                     f32_scalar("s", 0.1f)},
                                    {{"format", "pt"}}));
  const SafetensorsFile opened(file.path);
  CHECK(opened.tensors().size() == 4);
  CHECK(opened.tensors().at("w").shape == std::vector<std::uint64_t>{2, 3});
  CHECK(opened.tensors().at("w").end == 12);
  CHECK(opened.tensors().at("empty").elements == 0);
  CHECK(opened.metadata().at("format") == "pt");
  CHECK(opened.data_bytes() == 12 + 3 + 4);
  CHECK(opened.scalar("s") == 0.1f);
}

TEST_CASE("safetensors: a header padded with blanks and one without tensors are sound") {
  const File padded(safetensors_bytes(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}     )", "x"));
  CHECK(SafetensorsFile(padded.path).tensors().size() == 1);
  const File none(safetensors_bytes("{}", ""));
  CHECK(SafetensorsFile(none.path).tensors().empty());
}

TEST_CASE("safetensors: lengths that do not fit the file are refused") {
  refused("", {"at least 8 bytes", "found 0"});
  refused("1234567", {"at least 8 bytes", "found 7"});
  refused(length(3) + "{}", {"header length", "at most the 2 bytes", "found 3"});
  refused(length(100'000'001) + "{}", {"header length", "100000000"});
  refused(length(std::numeric_limits<std::uint64_t>::max()) + "{}", {"header length"});
  refused(length(0), {"header byte 0"});
  header_refused(" {}", 0, {"header byte 0"});
  header_refused("{", 0, {"header", "cut short"});
  header_refused("{}", 1, {"length", "tail"});
}

TEST_CASE("safetensors: entries of the wrong kind or range are refused by their name") {
  const auto entry = [](const std::string& inside) { return R"({"t.w":{)" + inside + "}}"; };
  header_refused(R"({"t.w":[]})", 0, {"t.w", "an object"});
  header_refused(R"({"__metadata__":{"a":1}})", 0, {"__metadata__.a", "a string"});
  header_refused(entry(R"("dtype":"F32","shape":[1])"), 4, {"t.w", "data_offsets"});
  header_refused(entry(R"("dtype":"F33","shape":[1],"data_offsets":[0,4])"), 4, {"t.w.dtype", "F33"});
  header_refused(entry(R"("dtype":"F32","shape":[-1],"data_offsets":[0,4])"), 4, {"t.w.shape[0]", "-1"});
  header_refused(entry(R"("dtype":"F32","shape":[1.0],"data_offsets":[0,4])"), 4, {"t.w.shape[0]"});
  header_refused(entry(R"("dtype":"F32","shape":1,"data_offsets":[0,4])"), 4, {"t.w.shape", "an array"});
  header_refused(entry(R"("dtype":"F32","shape":[1],"data_offsets":[4,0])"), 4, {"t.w.data_offsets"});
  header_refused(entry(R"("dtype":"F32","shape":[1],"data_offsets":[0,4,8])"), 4, {"t.w.data_offsets"});
  header_refused(entry(R"("dtype":"F32","shape":[2],"data_offsets":[0,4])"), 4, {"t.w.data_offsets", "8 bytes"});
  header_refused(entry(R"("dtype":"F4","shape":[3],"data_offsets":[0,2])"), 2, {"t.w.shape", "whole bytes"});
  header_refused(entry(R"("dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,0])"), 0,
                 {"t.w.shape", "2^64"});
  header_refused(entry(R"("dtype":"F32","shape":[4611686018427387904],"data_offsets":[0,0])"), 0, {"t.w.shape"});
  header_refused(entry(R"("dtype":"F32","shape":[1],"data_offsets":[0,4],"x":1)"), 4, {"t.w", "\"x\""});
}

TEST_CASE("safetensors: overlaps and holes and a name twice are refused") {
  const auto two = [](const char* a, const char* first, const char* b, const char* second) {
    constexpr const char* kEntry = R"("{}":{{"dtype":"U8","shape":[4],"data_offsets":{}}})";
    return fmt::format("{{{},{}}}", fmt::format(kEntry, a, first), fmt::format(kEntry, b, second));
  };
  header_refused(two("a", "[0,4]", "b", "[2,6]"), 6, {"b", "overlap"});
  header_refused(two("a", "[0,4]", "b", "[0,4]"), 4, {"b", "overlap"});
  header_refused(two("a", "[0,4]", "b", "[5,9]"), 9, {"b", "no tensor names"});
  header_refused(two("a", "[0,4]", "b", "[4,8]"), 7, {"length", "cut short"});
  header_refused(two("a", "[0,4]", "a", "[4,8]"), 8, {"header", "\"a\" twice"});
}
