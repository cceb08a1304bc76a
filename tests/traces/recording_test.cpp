// A recording written and read again, and the file in between.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/catch.hpp"
#include "tests/traces/support.hpp"
#include "traces/recording_writer.hpp"

using namespace refrain;
using namespace refrain::test;
using Json = nlohmann::json;

namespace {

std::vector<Json> lines_of(const std::string& text) {
  std::vector<Json> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(Json::parse(line));
  return lines;
}

}  // namespace

TEST_CASE("recording: every field of every record comes back, from gzip and from plain text") {
  const Recording recording = full_recording();
  const std::string path = path_of("full.rec");
  write_recording(path, recording, {"cuda", "H200", "580.1", "13.0"});
  const std::string bytes = bytes_of(path);
  REQUIRE(bytes.substr(0, 2) == "\x1f\x8b");
  for (const std::string& file : {path, file_of("full.jsonl", gunzip(bytes))}) {
    DeviceLine device;
    const Recording again = read(file, &device);
    INFO(file);
    CHECK(again.timeline.problems.empty());
    CHECK(again.timeline.complete);
    CHECK(again.name == recording.name);
    CHECK(describe(again) == describe(recording));
    CHECK(device.kind == "cuda");
    CHECK(device.device == "H200");
    CHECK(device.driver == "580.1");
    CHECK(device.toolkit == "13.0");
  }
}

TEST_CASE("recording: the records of the file stand in sequence order between header and end, each as one line") {
  const std::string path = path_of("order.rec");
  write_recording(path, full_recording(), {});
  const std::vector<Json> lines = lines_of(gunzip(bytes_of(path)));
  std::vector<std::string> kinds;
  for (const Json& line : lines) kinds.push_back(line.value("type", "header"));
  // Sequence numbers 0 (a buffer that was never seen born), 0 (a graph without a call), 2, 3, 5, 8, 9, 15, 16, 20.
  CHECK(kinds == std::vector<std::string>{"header", "buffer", "graph", "buffer", "call", "range", "graph", "call",
                                          "check", "check", "range", "end"});
  CHECK(lines.front().at("schema") == "refrain.recording/1");
  CHECK(lines.back().at("records") == 10);
}

TEST_CASE("recording: records that were written out of order are brought into it") {
  const Recording recording = read(file_of(
      "unsorted.jsonl",
      recording_text({R"({"type":"call","seq":9,"api":"malloc"})", R"({"type":"range","first":1,"last":20,"name":"b"})",
                      R"({"type":"call","seq":2,"api":"free"})", R"({"type":"range","first":3,"last":4,"name":"a"})",
                      R"({"type":"end","records":4})"})));
  REQUIRE(recording.timeline.calls.size() == 2);
  CHECK(recording.timeline.calls[0].api == Api::free);
  CHECK(recording.timeline.calls[1].api == Api::malloc);
  REQUIRE(recording.timeline.ranges.size() == 2);
  CHECK(recording.timeline.text(recording.timeline.ranges[0].name) == "a");
  CHECK(recording.timeline.complete);
}

TEST_CASE("recording: what is left out has its default; an end time or an end of a range is its beginning") {
  const Recording recording = read(file_of(
      "short.jsonl",
      recording_text({R"({"type":"call","seq":1,"api":"malloc","t0":7})", R"({"type":"range","first":5})",
                      R"({"type":"buffer"})", R"({"type":"check","seq":6,"kind":"repeat"})", R"({"type":"end"})"})));
  const Timeline& timeline = recording.timeline;
  CHECK(timeline.problems.empty());
  CHECK(timeline.complete);
  REQUIRE(timeline.calls.size() == 1);
  CHECK(timeline.calls[0].end_ns == 7);
  CHECK(timeline.calls[0].mode == CaptureMode::global);
  CHECK(timeline.calls[0].target == Target::none);
  CHECK(timeline.calls[0].space == MemorySpace::unknown);
  REQUIRE(timeline.ranges.size() == 1);
  CHECK(timeline.ranges[0].last == 5);
  CHECK_FALSE(timeline.ranges[0].step);
  REQUIRE(timeline.buffers.size() == 1);
  CHECK(timeline.buffers[0].buffer.space == MemorySpace::device);
  CHECK_FALSE(timeline.buffers[0].buffer.born.has_value());
  REQUIRE(timeline.checks.size() == 1);
  CHECK(timeline.checks[0].finite);
  CHECK(timeline.checks[0].bit_equal);
  CHECK_FALSE(timeline.checks[0].first_nan_node.has_value());
}

TEST_CASE("recording: without an end record it is not complete, and stays so when it is written again") {
  const Recording recording =
      read(file_of("open.jsonl", recording_text({R"({"type":"call","seq":1,"api":"malloc"})"})));
  CHECK_FALSE(recording.timeline.complete);
  CHECK(recording.timeline.problems.empty());
  const std::string path = path_of("again.rec");
  write_recording(path, recording, {});
  CHECK_FALSE(read(path).timeline.complete);
  CHECK(read(path).timeline.calls.size() == 1);
}

TEST_CASE("recording: blank lines, carriage returns and a byte order mark are no fault") {
  const Recording recording = read(file_of("crlf.jsonl",
                                           "\xef\xbb\xbf{\"schema\":\"refrain.recording/1\"}\r\n\r\n"
                                           "{\"type\":\"call\",\"seq\":1,\"api\":\"malloc\"}\r\n\n"
                                           "{\"type\":\"end\",\"records\":1}\r\n"));
  CHECK(recording.timeline.complete);
  CHECK(recording.timeline.problems.empty());
  CHECK(recording.timeline.calls.size() == 1);
}

TEST_CASE("recording: a name that is no UTF-8 is written with replacement characters, not lost with its record") {
  Recording recording;
  recording.has_timeline = true;
  ApiEvent call;
  call.detail = Interner(recording.timeline).id("k\xff");
  recording.timeline.calls = {call};
  const std::string path = path_of("utf8.rec");
  write_recording(path, recording, {});
  const Recording again = read(path);
  REQUIRE(again.timeline.calls.size() == 1);
  CHECK(again.timeline.text(again.timeline.calls[0].detail) == "k\xef\xbf\xbd");
}

TEST_CASE("recording: figures that JSON has no numbers for come back") {
  Recording recording;
  recording.has_timeline = true;
  for (const double value : {HUGE_VAL, -HUGE_VAL, std::nan(""), 5e-324, 1.7976931348623157e308, -0.1}) {
    ReplayCheck check;
    check.max_abs_error = check.tolerance = value;
    recording.timeline.checks.push_back(check);
  }
  const std::string path = path_of("figures.rec");
  write_recording(path, recording, {});
  CHECK(describe(read(path)) == describe(recording));
}
