// A bad record is counted under a name, with its place and a sentence, and what
// stands around it is read. A file without a header is an error.
#include <fmt/format.h>

#include "graphs/error.hpp"
#include "tests/catch.hpp"
#include "tests/traces/support.hpp"
#include "traces/recording_reader.hpp"

using namespace refrain;
using namespace refrain::test;

namespace {

const std::string kCall = R"({"type":"call","seq":1,"api":"malloc"})";

Recording read_lines(const std::vector<std::string>& lines) {
  return read(file_of("lines.jsonl", recording_text(lines)));
}

/// The bad line stands between two calls that must be read; the sentence names the words.
void check_problem(const std::string& line, const std::string& name, std::initializer_list<const char*> words) {
  const Recording recording = read_lines({kCall, line, kCall, R"({"type":"end","records":3})"});
  const Timeline& timeline = recording.timeline;
  INFO(line);
  CHECK(timeline.calls.size() == 2);
  CHECK(timeline.complete);
  REQUIRE(timeline.problems.size() == 1);
  const ReadProblem& problem = timeline.problems.front();
  INFO(problem.sentence);
  CHECK(problem.name == name);
  CHECK(problem.count == 1);
  CHECK(problem.first_offset == kHeader.size() + kCall.size() + 1);
  CHECK(problem.sentence.find("missing from what is reported") != std::string::npos);
  CHECK(problem.sentence.size() < 500);
  for (const char* word : words) CHECK(problem.sentence.find(word) != std::string::npos);
}

}  // namespace

TEST_CASE("bad records: a type that nobody knows, or none") {
  check_problem(R"({"type":"kernel","seq":2})", "unknown-record", {"\"kernel\""});
  check_problem(R"({"seq":2})", "unknown-record", {"\"\""});
  check_problem(R"({"type":7})", "bad-record", {"type", "string", "7"});
  check_problem(R"({"type":null})", "bad-record", {"type", "null"});
}

TEST_CASE("bad records: lines that are no flat JSON object") {
  for (const char* line : {"x", "{", "}", "[]", "7", "\"call\"", "null", "{\"type\"}", "{\"type\":\"call\",}",
                           "{\"type\":\"call\"} {}", "{\"type\":\"c\xff\"}", "{'type':'call'}", "[{\"graph\":{}}]",
                           "{\"a\":1e999}", "\x01\x02", "{\"graph\":{}", "]{\"graph\":{}}"})
    check_problem(line, "bad-record", {});
  check_problem(std::string("\0\0\0", 3), "bad-record", {});
  check_problem(R"({"type":"call","seq":2,"api":{"a":1}})", "bad-record", {"api", "nested"});
  check_problem(R"({"type":"call","seq":2,"api":["a"]})", "bad-record", {"api", "nested"});
  check_problem(R"({"type":"buffer","reserved":[[1,2]]})", "bad-record", {"reserved", "nested"});
  check_problem(std::string(100'000, '['), "bad-record", {});
  check_problem(R"({"a":)" + std::string(100'000, '['), "bad-record", {});
  check_problem(R"({"graph":)" + std::string(100'000, '{'), "bad-record", {});
}

TEST_CASE("bad records: fields of a wrong kind, out of range, misspelt, missing or twice") {
  const auto call = [](const std::string& rest) { return R"({"type":"call","seq":2,"api":"free",)" + rest + "}"; };
  check_problem(R"({"type":"call","seq":2})", "bad-record", {"api", "none"});
  check_problem(R"({"type":"call","api":"free"})", "bad-record", {"seq"});
  check_problem(R"({"type":"call","seq":2,"api":"cudaFree"})", "bad-record", {"api", "cudaFree"});
  check_problem(R"({"type":"call","seq":-1,"api":"free"})", "bad-record", {"seq", "-1"});
  check_problem(R"({"type":"call","seq":18446744073709551616,"api":"free"})", "bad-record", {"seq"});
  check_problem(R"({"type":"call","seq":1.0,"api":"free"})", "bad-record", {"seq"});
  check_problem(R"({"type":"call","seq":"2","api":"free"})", "bad-record", {"seq", "\"2\""});
  check_problem(call(R"("thread":4294967296)"), "bad-record", {"thread", "4294967296"});
  check_problem(call(R"("code":2147483648)"), "bad-record", {"code"});
  check_problem(call(R"("code":-2147483649)"), "bad-record", {"code"});
  check_problem(call(R"("t0":9,"t1":8)"), "bad-record", {"t1", "8"});
  check_problem(call(R"("address":32512)"), "bad-record", {"address", "32512"});
  check_problem(call(R"("address":"7f00")"), "bad-record", {"address", "0x"});
  check_problem(call(R"("address":"0x10000000000000000")"), "bad-record", {"address"});
  check_problem(call(R"("mode":"thread_local_")"), "bad-record", {"mode", "relaxed"});
  check_problem(call(R"("target":"the capturing stream")"), "bad-record", {"target"});
  check_problem(call(R"("space":"host")"), "bad-record", {"space", "pageable"});
  check_problem(call(R"("steam":2)"), "bad-record", {"steam", "spelling"});
  check_problem(call(R"("stream":2,"stream":3)"), "bad-record", {"stream"});
  check_problem(R"({"type":"range","last":3})", "bad-record", {"first"});
  check_problem(R"({"type":"range","first":4,"last":3})", "bad-record", {"last"});
  check_problem(R"({"type":"range","first":4,"step":1})", "bad-record", {"step", "true"});
  check_problem(R"({"type":"buffer","base":"0xffffffffffffffff","bytes":2})", "bad-record", {"bytes"});
  check_problem(R"({"type":"buffer","born":9,"died":3})", "bad-record", {"died"});
  check_problem(R"({"type":"buffer","reserved":[2,1]})", "bad-record", {"reserved", "begin"});
  check_problem(R"({"type":"buffer","reserved":[1,2,3]})", "bad-record", {"reserved", "3"});
  check_problem(R"({"type":"buffer","bytes":4,"reserved":[1,5]})", "bad-record", {"reserved", "4"});
  check_problem(R"({"type":"limit","count":3})", "bad-record", {"name"});
  check_problem(R"({"type":"check","seq":2})", "bad-record", {"kind"});
  check_problem(R"({"type":"check","seq":2,"kind":"repeat","max_abs_error":"big"})", "bad-record", {"max_abs_error"});
  check_problem(R"({"type":"check","seq":2,"kind":"repeat","first_nan_node":-1})", "bad-record", {"first_nan_node"});
}

TEST_CASE("bad records: a bad graph is told in the words of the graph reader") {
  check_problem(R"({"type":"graph","seq":2,"handle":5})", "bad-graph", {"graph", "none"});
  check_problem(R"({"type":"graph","seq":2,"graph":"decode"})", "bad-graph", {"graph", "object"});
  check_problem(R"({"type":"graph","handle":5,"graph":{}})", "bad-graph", {"seq"});
  check_problem(R"({"type":"graph","seq":2,"graph":{"schema":"refrain.graph/2"}})", "bad-graph", {"refrain.graph/1"});
  check_problem(R"({"type":"graph","graph":{"schema":"refrain.graph/1","nodes":[],"edges":[{"from":0,"to":7}]}})",
                "bad-graph", {"edges[0]"});
  check_problem(R"({"type":"graph","graph":{"schema":"refrain.graph/1","nodes":[nonsense]}})", "bad-graph", {"byte"});
  check_problem(R"({"type":"graph","graph":{]})", "bad-graph", {"byte"});
  check_problem(R"({"type":"graph","graph":{"x":)" + std::string(400, '[') + std::string(400, ']') + "}}", "bad-graph",
                {"brackets"});
  check_problem(R"({"type":"graph","graph":{"schema":"refrain.graph/1","nodes":[],"edges":[]},"note":"x"})",
                "bad-graph", {"note"});
}

TEST_CASE("bad records: a graph is found among fields and strings that look like it") {
  const Recording recording = read_lines(
      {R"({"graph" : {"schema":"refrain.graph/1","name":"}\"{,\"graph\":{","nodes":[],"edges":[]},"seq":4,"type":"graph","handle":7})",
       R"({"type":"check","seq":5,"kind":"repeat","axis":"\"graph\":{","graph":"{decode"})",
       R"({"type":"end","records":2})"});
  CHECK(recording.timeline.problems.empty());
  REQUIRE(recording.graphs.size() == 1);
  CHECK(recording.graphs[0].name == "}\"{,\"graph\":{");
  REQUIRE(recording.timeline.graphs.size() == 1);
  CHECK(recording.timeline.graphs[0].handle == 7);
  REQUIRE(recording.timeline.checks.size() == 1);
  CHECK(recording.timeline.text(recording.timeline.checks[0].graph) == "{decode");
}

TEST_CASE("bad records: equal problems are counted, and the first keeps its place and sentence") {
  const Recording recording =
      read_lines({"x", kCall, "y", R"({"type":"new"})", R"({"type":"newer"})", R"({"type":"end","records":5})"});
  CHECK(problems(recording, "bad-record") == 2);
  CHECK(problems(recording, "unknown-record") == 2);
  CHECK(recording.timeline.problems[0].first_offset == kHeader.size());
  CHECK(recording.timeline.problems[1].sentence.find("\"new\"") != std::string::npos);
  CHECK(recording.timeline.complete);
}

TEST_CASE("bad records: the reading stops after a thousand and says so") {
  std::vector<std::string> lines(kMaxReadProblems - 1, "x");
  lines.push_back(kCall);
  CHECK(read_lines(lines).timeline.calls.size() == 1);
  lines.insert(lines.begin(), "x");
  lines.push_back(R"({"type":"end"})");
  const Recording recording = read_lines(lines);
  CHECK(recording.timeline.calls.empty());
  CHECK(problems(recording, "bad-record") == kMaxReadProblems);
  CHECK(problems(recording, "too-many-problems") == 1);
  CHECK_FALSE(recording.timeline.complete);
}

TEST_CASE("bad records: an end that promises other records than were there, and records behind it") {
  const Recording fewer = read_lines({kCall, R"({"type":"end","records":2})"});
  CHECK(problems(fewer, "records-missing") == 1);
  CHECK_FALSE(fewer.timeline.complete);
  const Recording behind = read_lines({kCall, R"({"type":"end","records":1})", kCall});
  CHECK(problems(behind, "record-after-end") == 1);
  CHECK(behind.timeline.calls.size() == 1);
}

TEST_CASE("bad records: a line over the limit is skipped without being kept, and one at the limit is read") {
  const auto long_call = [](std::size_t bytes) {
    std::string line = R"({"type":"call","seq":1,"api":"malloc","detail":""})";
    return line.insert(line.size() - 2, bytes - line.size(), 'x');
  };
  const Recording over = read(file_of("over.rec", gzip(recording_text({kCall, long_call(kMaxRecordBytes + 1), kCall,
                                                                       R"({"type":"end","records":3})"}))));
  CHECK(over.timeline.calls.size() == 2);
  CHECK(problems(over, "line-too-long") == 1);
  CHECK(over.timeline.complete);
  const Recording at = read(file_of("at.rec", gzip(recording_text({long_call(kMaxRecordBytes), R"({"type":"end"})"}))));
  CHECK(at.timeline.problems.empty());
  REQUIRE(at.timeline.calls.size() == 1);
  CHECK(at.timeline.text(at.timeline.calls[0].detail).size() > kMaxRecordBytes - 100);
}

TEST_CASE("bad records: a file without a header is an error with the place and what was expected") {
  const auto check_refused = [](const std::string& bytes, std::initializer_list<const char*> words) {
    const std::string said = error_of(file_of("no-header.rec", bytes));
    INFO(said);
    CHECK(said.find("no-header.rec") != std::string::npos);
    CHECK(said.find("refrain.recording/1") != std::string::npos);
    CHECK(said.find('\n') == std::string::npos);
    CHECK(said.size() < 400);
    for (const char* word : words) CHECK(said.find(word) != std::string::npos);
  };
  check_refused("", {"byte 0", "empty"});
  check_refused("\n", {"byte 0"});
  check_refused("hello\n", {"byte 0", "hello"});
  check_refused(kCall + "\n", {"expected", "schema"});
  check_refused("{\"schema\":\"refrain.recording/2\"}\n", {"schema", "refrain.recording/2"});
  check_refused("{\"schema\":7}\n", {"schema", "7"});
  check_refused(R"({"schema":"refrain.recording/1")", {"byte 31", "end of the file"});
  check_refused(std::string(3 << 20, '{'), {"byte 3145728", "first line"});
  check_refused(std::string(3 << 20, '{') + "\n", {"1048576"});
  check_refused(std::string(100'000, '[') + "\n", {"byte 0"});
  check_refused(std::string("\x7f"
                            "ELF\0\1\n",
                            7),
                {"byte 0"});
  check_refused(gzip(""), {"byte 0", "empty"});
  check_refused(gzip("digraph dot {\n}\n"), {"byte 0", "digraph dot {", "gunzip"});
  check_refused(gzip("{\n  \"schema\": \"refrain.graph/1\"\n}\n"), {"gunzip"});
  check_refused(std::string("\x1f\x8b\0\0garbage", 11), {"damaged"});
  check_refused("\x1f\x8b", {"byte 0"});
}

TEST_CASE("bad records: unknown or wrong fields of the header are an error that names them") {
  for (const char* header :
       {R"({"schema":"refrain.recording/1","nam":"x"})", R"({"schema":"refrain.recording/1","name":7})",
        R"({"schema":"refrain.recording/1","device":"host"})",
        R"({"schema":"refrain.recording/1","device":{"kind":1}})"}) {
    const std::string said = error_of(file_of("header.jsonl", std::string(header) + "\n"));
    INFO(header << "\n" << said);
    CHECK(said.find("expected") != std::string::npos);
    CHECK((said.find("nam") != std::string::npos || said.find("device") != std::string::npos));
  }
}
