// The trace for Perfetto, read by nlohmann's parser and held against what the world is known to hold.
#include <zlib.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "graphs/error.hpp"
#include "tests/catch.hpp"
#include "tests/review/review_world.hpp"
#include "tests/review/scratch_folder.hpp"

using namespace refrain;
using namespace refrain::test;
using nlohmann::json;

namespace {

std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::vector<json> events_of(const Review& review) {
  const ScratchFolder folder;
  write_chrome_trace(review, folder / "trace.json");
  return json::parse(text_of(folder / "trace.json")).at("traceEvents").get<std::vector<json>>();
}

std::vector<json> with_phase(const std::vector<json>& events, const char* phase) {
  std::vector<json> some;
  for (const json& event : events)
    if (event.at("ph") == phase) some.push_back(event);
  return some;
}

using Track = std::pair<int, int>;
Track track_of(const json& event) {
  return {event.at("pid"), event.at("tid")};
}

std::uint64_t ns(const json& microseconds) {
  return static_cast<std::uint64_t>(std::llround(microseconds.get<double>() * 1000));
}

/// Names of tracks and of their processes: `Host/thread 1`.
std::map<Track, std::string> tracks(const std::vector<json>& events) {
  std::map<int, std::string> processes;
  std::map<Track, std::string> names;
  for (const json& event : with_phase(events, "M"))
    if (event.at("name") == "process_name") processes[event.at("pid")] = event.at("args").at("name");
  for (const json& event : with_phase(events, "M"))
    if (event.at("name") == "thread_name")
      names[track_of(event)] = processes.at(event.at("pid")) + "/" + event.at("args").at("name").get<std::string>();
  return names;
}

std::map<std::string, std::vector<json>> slices_by_track(const std::vector<json>& events) {
  const auto names = tracks(events);
  std::map<std::string, std::vector<json>> slices;
  for (const json& event : with_phase(events, "X")) slices[names.at(track_of(event))].push_back(event);
  return slices;
}

/// No two slices of a track overlap but one within the other, which is what viewers take.
bool nests(const std::vector<json>& slices) {
  for (const json& a : slices)
    for (const json& b : slices) {
      const std::uint64_t a0 = ns(a["ts"]), a1 = a0 + ns(a["dur"]), b0 = ns(b["ts"]), b1 = b0 + ns(b["dur"]);
      if (a0 < b0 && b0 < a1 && a1 < b1) return false;
    }
  return true;
}

}  // namespace

TEST_CASE("chrome trace: every step and range and call and piece of device work is one slice on its track") {
  const auto slices = slices_by_track(events_of(make_review()));
  CHECK(slices.at("Review/steps of thread 1").size() == 6);
  CHECK(slices.at("Host/thread 1").size() == 6 * (5 + 2));
  // The copy, nodes 0 2 4 of 5 and the kernel on stream 7; nodes 1 and 3 on stream 8.
  CHECK(slices.at("Device 0, process 1/stream 7").size() == 6 * 5);
  CHECK(slices.at("Device 0, process 1/stream 8").size() == 6 * 2);
  CHECK(slices.size() == 4);
}

TEST_CASE("chrome trace: times are microseconds to the nanosecond") {
  Review review = make_review();
  Timeline& timeline = review.subject.recordings.front().timeline;
  timeline.calls[0].start_ns = 1'020'007;
  timeline.calls[0].end_ns = 1'040'010;
  const auto slices = slices_by_track(events_of(review)).at("Host/thread 1");
  const auto copy =
      std::find_if(slices.begin(), slices.end(), [](const json& e) { return e["args"].value("sequence", 0) == 1; });
  REQUIRE(copy != slices.end());
  CHECK(copy->at("ts").dump() == "1020.007");
  CHECK(copy->at("dur").dump() == "20.003");
  CHECK(copy->at("name") == to_string(Api::memcpy_async_h2d_pageable));
  CHECK(copy->at("args").at("bytes") == 4096);
}

TEST_CASE("chrome trace: every flow begins in its call and ends at the first work of it") {
  const auto events = events_of(make_review());
  std::map<int, json> begins, ends;
  for (const json& event : with_phase(events, "s")) CHECK(begins.emplace(event.at("id"), event).second);
  for (const json& event : with_phase(events, "f")) CHECK(ends.emplace(event.at("id"), event).second);
  CHECK(begins.size() == 6 * 3);
  REQUIRE(begins.size() == ends.size());
  const auto stands_on = [&](const json& end, const char* arg) -> json {
    for (const json& slice : with_phase(events, "X"))
      if (track_of(slice) == track_of(end) && slice["ts"] == end["ts"] && slice["args"].contains(arg))
        return slice["args"][arg];
    return nullptr;
  };
  for (const auto& [id, begin] : begins) {
    const json& end = ends.at(id);
    CHECK(end.at("bp") == "e");
    CHECK(end.at("ts").get<double>() > begin.at("ts").get<double>());
    CHECK(stands_on(begin, "sequence").is_number());
    CHECK(stands_on(begin, "sequence") == stands_on(end, "call"));
  }
}

TEST_CASE("chrome trace: work that seems to begin before its call has no arrow") {
  Review review = make_review({.steps = 1});
  review.subject.recordings.front().timeline.calls[0].start_ns = 1'039'000;
  const auto events = events_of(review);
  CHECK(with_phase(events, "s").size() == 2);
  CHECK(with_phase(events, "f").size() == 2);
}

TEST_CASE("chrome trace: findings are marks at the time of their call with rule and message and fix and step") {
  const Review review = make_review();
  const auto events = events_of(review);
  const auto marks = with_phase(events, "i");
  REQUIRE(marks.size() == 2);
  CHECK(tracks(events).at(track_of(marks[0])) == "Review/findings");
  CHECK(marks[0].at("s") == "t");
  CHECK(ns(marks[0].at("ts")) == step_start(3) + 20'000);
  CHECK(marks[0].at("args").at("rule") == "RF103");
  CHECK(marks[0].at("args").at("message") == review.report.findings()[0].message);
  CHECK(marks[0].at("args").at("fix") == "copy from pinned memory");
  CHECK(marks[0].at("args").at("step") == 3);
  CHECK(ns(marks[1].at("ts")) == step_start(2) + 100'000);
  CHECK(marks[1].at("args").at("step") == 2);
}

TEST_CASE("chrome trace: a finding without a place is told beside the events") {
  const ScratchFolder folder;
  write_chrome_trace(make_review(), folder / "trace.json");
  const json other = json::parse(text_of(folder / "trace.json")).at("otherData");
  REQUIRE(other.at("findings_without_a_time").size() == 1);
  CHECK(other.at("findings_without_a_time")[0].at("rule") == "RF801");
  CHECK(other.at("step_basis") == to_string(StepBasis::named_range));
}

TEST_CASE("chrome trace: ranges that cross go to tracks on which they nest") {
  Review review = make_review({.steps = 1});
  Timeline& timeline = review.subject.recordings.front().timeline;
  // From inside `forward` to past the end of the step.
  timeline.ranges.push_back({1, 5, step_start(1) + 30'000, step_start(1) + 800'000, 1, 0, false});
  const auto slices = slices_by_track(events_of(review));
  CHECK(slices.at("Host/thread 1").size() == 7);
  CHECK(slices.at("Host/thread 1 (2)").size() == 1);
  for (const auto& [name, some] : slices) {
    INFO(name);
    CHECK(nests(some));
  }
  // The oracle can fail.
  auto one = slices.at("Host/thread 1");
  one.push_back(slices.at("Host/thread 1 (2)")[0]);
  CHECK_FALSE(nests(one));
}

TEST_CASE("chrome trace: nodes of a stream that ran side by side stand on two tracks") {
  Review review = make_review({.steps = 1, .nodes = 4, .streams = 1});
  for (WorkEvent& work : review.subject.recordings.front().timeline.work)
    if (work.graph_node != 0) work.end_ns += 5'000;
  const auto slices = slices_by_track(events_of(review));
  CHECK(slices.contains("Device 0, process 1/stream 7 (2)"));
  for (const auto& [name, some] : slices) CHECK(nests(some));
}

TEST_CASE("chrome trace: steps that were guessed are no ranges of the program") {
  Review review = make_review();
  review.cut.basis = StepBasis::replay;
  const auto slices = slices_by_track(events_of(review));
  CHECK(slices.at("Review/steps of thread 1").size() == 6);
  CHECK(slices.at("Host/thread 1").size() == 6 * (5 + 1));
}

TEST_CASE("chrome trace: a name of any bytes is a name and nothing else") {
  const std::string hostile = "\"},{\"ph\":\"X\"\n\x1b[31m\xFF\\ \xE2\x80\xAE";
  Review review = make_review({.steps = 1, .name = hostile, .input = hostile});
  const auto events = events_of(review);
  CHECK(with_phase(events, "X").size() == 1 + 7 + 7);
}

TEST_CASE("chrome trace: a review without steps or device work or findings is a whole trace") {
  CHECK(with_phase(events_of(make_review({.steps = 0})), "X").empty());
  const auto events = events_of(make_review({.device = false, .findings = false}));
  CHECK(with_phase(events, "s").empty());
  CHECK(with_phase(events, "i").empty());
  CHECK(with_phase(events, "X").size() == 6 * (1 + 7));
}

TEST_CASE("chrome trace: a name that ends in gz makes a compressed file with the same text") {
  const ScratchFolder folder;
  const Review review = make_review({.steps = 400});
  write_chrome_trace(review, folder / "trace.json");
  write_chrome_trace(review, folder / "trace.json.gz");
  const std::string plain = text_of(folder / "trace.json"), packed = text_of(folder / "trace.json.gz");
  REQUIRE(packed.substr(0, 2) == "\x1f\x8b");
  CHECK(packed.size() < plain.size() / 5);
  std::string unpacked(plain.size() + 1, '\xFF');
  const gzFile file = gzopen((folder / "trace.json.gz").c_str(), "rb");
  const int read = gzread(file, unpacked.data(), static_cast<unsigned>(unpacked.size()));
  gzclose(file);
  REQUIRE(read == static_cast<int>(plain.size()));
  CHECK(unpacked.substr(0, plain.size()) == plain);
}

TEST_CASE("chrome trace: it replaces what stood there and leaves nothing beside it") {
  const ScratchFolder folder;
  std::ofstream(folder / "trace.json") << "old";
  write_chrome_trace(make_review(), folder / "trace.json");
  CHECK(text_of(folder / "trace.json").starts_with("{"));
  CHECK(folder.files() == std::set<std::string>{"trace.json"});
}

TEST_CASE("chrome trace: a place that cannot be written is one clear error and nothing is left") {
  const ScratchFolder folder;
  std::filesystem::create_directory(folder / "taken");
  std::ofstream(folder / "taken/inside") << "x";
  for (const std::string& path : {folder / "none/trace.json", folder / "taken"}) {
    try {
      write_chrome_trace(make_review(), path);
      FAIL("no error for " << path);
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::input);
      CHECK(error.where() == path);
    }
  }
  CHECK(folder.files() == std::set<std::string>{"taken", "taken/inside"});
}
