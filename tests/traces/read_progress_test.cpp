// How far a reading is: told while it goes on, in bytes or rows of what the file is.
#include "traces/read_progress.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "tests/catch.hpp"
#include "tests/traces/export_file.hpp"
#include "tests/traces/support.hpp"
#include "traces/readers.hpp"

using namespace refrain;
using namespace refrain::test;

namespace {

struct Told {
  std::vector<std::uint64_t> done;
  std::uint64_t total = 0;
};

Told told_of(const std::string& path) {
  Told told;
  (void)load_recording(path, [&](std::uint64_t done, std::uint64_t total) {
    CHECK((told.done.empty() || done > told.done.back()));
    CHECK((told.total == 0 || told.total == total));
    told.done.push_back(done);
    told.total = total;
  });
  return told;
}

/// Of `events` calls, with text that gzip makes little of.
std::string kineto_text(int events) {
  std::string text = R"({"schemaVersion": 1, "traceEvents": [)";
  for (int i = 0; i < events; ++i)
    text += fmt::format(
        R"({}{{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":{},"dur":1,"args":{{"correlation":{},"x":"{:016x}{:016x}"}}}})",
        i == 0 ? "" : ",", i * 3, i + 1, 0x9e3779b97f4a7c15 * static_cast<std::uint64_t>(i + 1),
        0xc2b2ae3d27d4eb4f * static_cast<std::uint64_t>(i + 7));
  return text + "]}";
}

}  // namespace

TEST_CASE("read progress: a text file is told in bytes of the disk up to its size, packed or not") {
  const std::string text = kineto_text(20'000);
  for (const std::string& path : {file_of("progress.json", text), file_of("progress.json.gz", gzip(text))}) {
    INFO(path);
    const Told told = told_of(path);
    const std::uint64_t size = std::filesystem::file_size(path);
    CHECK(told.total == size);
    CHECK(told.done.size() >= 10);
    CHECK(told.done.front() < size / 8);
    CHECK(told.done.back() == size);
  }
}

TEST_CASE("read progress: a recording is told in bytes") {
  std::vector<std::string> lines;
  for (int i = 1; i <= 20'000; ++i)
    lines.push_back(fmt::format(R"({{"type":"call","seq":{},"api":"launch_kernel"}})", i));
  lines.push_back(fmt::format(R"({{"type":"end","records":{}}})", lines.size()));
  const std::string path = file_of("progress.jsonl", recording_text(lines));
  const Told told = told_of(path);
  CHECK(told.total == std::filesystem::file_size(path));
  CHECK(told.done.size() >= 10);
  CHECK(told.done.back() == told.total);
}

TEST_CASE("read progress: an export is told in rows of its tables") {
  constexpr int kCalls = 20'000, kRanges = 5'000;
  ExportFile file("progress.sqlite");
  file.call("cudaLaunchKernel_v7000", 0, 1, 1);
  file.range("a", 0, 1);
  file.run(
      fmt::format("WITH RECURSIVE n(i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < {}) INSERT INTO "
                  "CUPTI_ACTIVITY_KIND_RUNTIME SELECT i * 3, i * 3 + 1, 0, {}, i, 1, 0, NULL, 9 FROM n",
                  kCalls, global(100, 1)));
  file.run(
      fmt::format("WITH RECURSIVE n(i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < {}) INSERT INTO "
                  "NVTX_EVENTS SELECT i * 3, i * 3 + 1, 59, 'a', {}, NULL FROM n",
                  kRanges, global(100, 1)));
  const Told told = told_of(file.path());
  CHECK(told.total == kCalls + kRanges);
  REQUIRE(told.done.size() >= 5);
  CHECK(told.done.back() <= told.total);
  CHECK(told.done.back() > told.total - 5'000);
}

TEST_CASE("read progress: tables whose rows have no numbers and huge ones are read all the same") {
  ExportFile file("progress-rowid.sqlite");
  file.run(
      "CREATE TABLE NVTX_EVENTS (start INTEGER PRIMARY KEY, end INTEGER, text TEXT, globalTid INTEGER) WITHOUT ROWID");
  file.run("INSERT INTO NVTX_EVENTS VALUES (100, 150, 'decode_step_1', 1)");
  file.call("cudaGraphLaunch_v10000", 110, 112, 1);
  file.run("UPDATE CUPTI_ACTIVITY_KIND_RUNTIME SET rowid = 9223372036854775807");
  int told = 0;
  const Recording recording = load_recording(file.path(), [&](std::uint64_t, std::uint64_t) { ++told; });
  CHECK(recording.timeline.calls.size() == 1);
  CHECK(recording.timeline.ranges.size() == 1);
  CHECK(told == 0);  // one row is far from the first word
}

TEST_CASE("read progress: each percent is told once and neither nothing nor all") {
  std::vector<unsigned> told;
  const ReadProgress progress = by_percent([&](unsigned percent) { told.push_back(percent); });
  for (std::uint64_t done = 0; done <= 100'000; done += 10) progress(done, 100'000);
  progress(110'000, 100'000);  // more than the file said
  std::vector<unsigned> expected;
  for (unsigned i = 1; i <= 99; ++i) expected.push_back(i);
  CHECK(told == expected);
  told.clear();
  by_percent([&](unsigned percent) { told.push_back(percent); })(32'768, 32'768);
  CHECK(told.empty());
}
