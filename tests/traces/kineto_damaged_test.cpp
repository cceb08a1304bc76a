// PyTorch profiler traces that were cut, changed, or made to do harm: refused in
// one line with the place, or read; and random ones, whose text is laid out in
// every way that JSON allows, against what they were made of.
#include <fmt/format.h>

#include <zlib.h>

#include <algorithm>
#include <fstream>
#include <random>

#include "graphs/error.hpp"
#include "tests/catch.hpp"
#include "tests/traces/support.hpp"
#include "tests/traces/trace_support.hpp"
#include "traces/readers.hpp"

using namespace refrain;
using namespace refrain::test;

namespace {

std::string trace_of(const std::string& events) {
  return R"({"schemaVersion": 1, "traceEvents": [)" + events + "]}";
}

bool is_refused(const std::string& path, const std::string& words) {
  const std::string error = load_error(path);
  INFO(error);
  CHECK(std::count(error.begin(), error.end(), '\n') == 0);
  CHECK(error.size() < 400);
  return error.find(path) != std::string::npos && error.find(words) != std::string::npos;
}

struct Made {
  std::uint64_t start_ns = 0, duration_ns = 0, thread = 0;
  std::string name;
};

/// One allocation a piece: the name of a range around it tells its place.
class RandomTrace {
 public:
  explicit RandomTrace(unsigned seed) : random_(seed) {}

  std::string text(std::vector<Made>& made) {
    std::string events;
    for (int i = 0; i < 300; ++i) {
      made.push_back({10 + made.size() * 5'000 + below(900), below(4'000), below(3), word(below(8) == 0 ? 4'000 : 12)});
      if (!events.empty()) events += ',';
      events += event(made.back());
      events += ',';
      events += noise();
    }
    std::string out = blanks();
    out += object({pair("schemaVersion", "1"), pair("deviceProperties", "[{\"id\":[0,{}]}]"),
                   pair("traceEvents", fmt::format("[{}]", events)), pair("traceName", quoted("a]}\""))});
    return out + blanks();
  }

 private:
  std::uint64_t below(std::uint64_t most) { return random_() % most; }

  std::string blanks() { return std::string(below(20) == 0 ? below(3'000) : below(3), below(2) == 0 ? ' ' : '\n'); }

  std::string word(std::uint64_t length) {
    constexpr std::string_view kLetters = "abcxyz {}[],:\"\\/\t";
    std::string out = "r";
    for (std::uint64_t i = 0; i < length; ++i) out += kLetters[below(kLetters.size())];
    return out;
  }

  std::string quoted(const std::string& text) {
    std::string out = "\"";
    for (const char c : text) {
      if (c == '"' || c == '\\') out += '\\';
      if (c == '\t')
        out += below(2) == 0 ? "\\t" : "\\u0009";
      else
        out += c;
    }
    return out + "\"";
  }

  std::string pair(const std::string& key, const std::string& value) {
    return blanks() + quoted(key) + blanks() + ":" + blanks() + value + blanks();
  }

  std::string object(std::vector<std::string> pairs) {
    std::shuffle(pairs.begin(), pairs.end(), random_);
    std::string out;
    for (const std::string& each : pairs) out += (out.empty() ? "" : ",") + each;
    return "{" + out + "}";
  }

  std::string us(std::uint64_t ns) {
    return below(4) == 0 && ns % 1000 == 0 ? std::to_string(ns / 1000) : fmt::format("{}.{:03}", ns / 1000, ns % 1000);
  }

  std::string event(const Made& made) {
    return object(
        {pair("ph", "\"X\""), pair("cat", "\"user_annotation\""), pair("name", quoted(made.name)), pair("pid", "77"),
         pair("tid", below(2) == 0 ? std::to_string(made.thread) : quoted(std::to_string(made.thread))),
         pair("ts", us(made.start_ns)), pair("dur", us(made.duration_ns)),
         pair("args", object({pair("x", "[1, [2, {\"y\": null}]]"), pair("z", "-1.5e3"), pair("w", "NaN")}))});
  }

  std::string noise() {
    return object({pair("ph", below(2) == 0 ? "\"X\"" : "\"s\""), pair("cat", "\"python_function\""),
                   pair("name", quoted(word(30))), pair("ts", "true"), pair("args", "{\"a\":[{},[]],\"b\":\"}\"}")});
  }

  std::mt19937 random_;
};

/// The most memory that this process has held since the last call, in KiB; 0 where the system does not tell.
std::size_t peak_since_last() {
  std::size_t kib = 0;
  std::string word;
  for (std::ifstream status("/proc/self/status"); status >> word;)
    if (word == "VmHWM:") status >> kib;
  std::ofstream reset("/proc/self/clear_refs");
  reset << "5" << std::flush;
  return reset ? kib : 0;
}

/// gzip of `piece` again and again, written without being held.
std::string bomb(const std::string& name, const std::string& start, const std::string& piece, std::size_t bytes,
                 const std::string& end) {
  const std::string path = path_of(name);
  gzFile file = gzopen(path.c_str(), "wb1");
  REQUIRE(file != nullptr);
  gzwrite(file, start.data(), static_cast<unsigned>(start.size()));
  for (std::size_t at = 0; at < bytes; at += piece.size())
    gzwrite(file, piece.data(), static_cast<unsigned>(piece.size()));
  gzwrite(file, end.data(), static_cast<unsigned>(end.size()));
  gzclose(file);
  return path;
}

}  // namespace

TEST_CASE("kineto: a hundred megabytes that no rule asks about and bombs take no memory") {
  std::string events;
  for (int i = 0; i < 500; ++i)
    events += fmt::format(
        R"({{"ph":"X","cat":"python_function","name":"f{}","pid":1,"tid":1,"ts":{},"dur":1,"args":{{"Ev Idx":{}}}}},)",
        i, i, i);
  const std::size_t bytes = std::size_t{100} << 20, most = std::size_t{24} << 10;
  const std::string large = bomb("large.json.gz", "{\"traceEvents\":[", events, bytes, "{}]}");
  const std::string name = bomb("bomb.json.gz", "{\"traceEvents\":[{\"name\":\"", std::string(1 << 20, 'x'), bytes, "");
  const std::string args =
      bomb("args.json.gz", "{\"traceEvents\":[{\"args\":{\"x\":[", std::string(1 << 20, '1'), bytes, "");
  if (peak_since_last() == 0) {
    WARN("skipped: /proc/self/clear_refs cannot be written");
    return;
  }
  const std::size_t before = peak_since_last();
  CHECK(load_error(large).empty());
  CHECK(peak_since_last() < before + most);
  CHECK(is_refused(name, "over 16 MiB"));
  CHECK(peak_since_last() < before + most);
  CHECK_FALSE(load_error(args).empty());
  CHECK(peak_since_last() < before + most);
}

TEST_CASE("kineto: random traces are what they were made of however their text is laid out") {
  for (const unsigned seed : {1u, 2u, 3u, 4u}) {
    std::vector<Made> made;
    const std::string text = RandomTrace(seed).text(made);
    for (const std::string& path : {file_of("random.json", text), file_of("random.json.gz", gzip(text))}) {
      const Timeline timeline = load_recording(path).timeline;
      INFO("seed " << seed);
      CHECK(timeline.problems.empty());
      REQUIRE(timeline.ranges.size() == made.size());
      std::vector<RangeEvent> ranges = timeline.ranges;
      std::sort(ranges.begin(), ranges.end(),
                [](const RangeEvent& a, const RangeEvent& b) { return a.start_ns < b.start_ns; });
      for (std::size_t i = 0; i < made.size(); ++i) {
        REQUIRE(ranges[i].start_ns == made[i].start_ns - made[0].start_ns);
        REQUIRE(ranges[i].end_ns - ranges[i].start_ns == made[i].duration_ns);
        REQUIRE(timeline.text(ranges[i].name) == made[i].name);
        for (std::size_t j = 0; j < i; ++j)
          REQUIRE((ranges[i].thread == ranges[j].thread) == (made[i].thread == made[j].thread));
      }
    }
  }
}

TEST_CASE("kineto: a trace cut at any byte is refused where it ends") {
  const std::string whole = gunzip(bytes_of(sample("capture_clean.json.gz"))), packed = gzip(whole);
  const std::size_t end = whole.find_last_of('}') + 1;
  for (std::size_t size = 200; size < end; size += 61)
    REQUIRE(is_refused(file_of("cut.json", whole.substr(0, size)), fmt::format("byte {}: ", size)));
  CHECK(load_error(file_of("whole.json", whole.substr(0, end))).empty());
  for (std::size_t size = 600; size < packed.size(); size += 97)
    REQUIRE(is_refused(file_of("cut.json.gz", packed.substr(0, size)), "cut"));
}

TEST_CASE("kineto: a changed byte is refused in one line or read and never crashes") {
  const std::string event =
      R"({"ph":"X","cat":"kernel","name":"k","pid":0,"tid":"7","ts":1.5,"dur":2,"args":{"correlation":1,"stream":7}})";
  const std::string text = trace_of(event + ", " + event), packed = gzip(text);
  std::size_t refused = 0;
  for (std::size_t at = 0; at < text.size(); ++at)
    for (const int flip : {0x01, 0x20, 0x5b ^ 0x7b, 0xff}) {
      std::string changed = text;
      changed[at] = static_cast<char>(changed[at] ^ flip);
      const std::string error = load_error(file_of("flipped.json", changed));
      CHECK(std::count(error.begin(), error.end(), '\n') == 0);
      refused += error.empty() ? 0 : 1;
    }
  CHECK(refused > text.size() / 4);
  // gzip has a checksum; the 10 bytes of its header do not stand under it.
  for (std::size_t at = 10; at < packed.size(); ++at) {
    std::string changed = packed;
    changed[at] = static_cast<char>(changed[at] ^ 0x10);
    INFO("byte " << at);
    CHECK_FALSE(load_error(file_of("flipped.json.gz", changed)).empty());
  }
}

TEST_CASE("kineto: texts that mean harm are refused with what they are") {
  CHECK(is_refused(file_of("deep.json", trace_of(std::string(100'000, '['))), "64 deep"));
  CHECK(is_refused(file_of("deep-args.json", trace_of(R"({"ph":"X","a":)" + std::string(100'000, '['))), "64 deep"));
  for (const char* start : {R"({"name":")", R"({"args":{"x":")", R"({"ph":"M","x":")"})
    CHECK(is_refused(file_of("endless.json.gz", gzip(trace_of(start + std::string(40 << 20, 'x')))), "over 16 MiB"));
  CHECK(is_refused(file_of("digits.json.gz", gzip(trace_of(R"({"ts":)" + std::string(40 << 20, '1')))), "over 16 MiB"));
  CHECK(is_refused(file_of("blank.json.gz", gzip(trace_of(std::string(40 << 20, ' ')))), "over 16 MiB"));
  CHECK(is_refused(file_of("none.json", R"({"schemaVersion": 1})"), "traceEvents"));
  CHECK(is_refused(file_of("twice.json", trace_of("") + "{}"), "more text"));
  CHECK(is_refused(file_of("mixed.json", R"({"traceEvents": [{}}])"), "bracket"));
  CHECK(is_refused(file_of("colon.json", R"({"traceEvents" []})"), "colon"));
}

TEST_CASE("kineto: a name that is long but no harm is kept as far as it can be shown") {
  const std::string event =
      fmt::format(R"({{"ph":"X","cat":"kernel","name":"{}","pid":0,"tid":7,"ts":1,"dur":1,"args":{{"stream":7}}}})",
                  std::string(1 << 20, 'n'));
  const Timeline timeline = load_recording(file_of("long.json", trace_of(event))).timeline;
  REQUIRE(timeline.work.size() == 1);
  CHECK(timeline.text(timeline.work[0].name).size() == 16 << 10);
}
