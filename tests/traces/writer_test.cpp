// The writer beside a program that may die at any moment, and on a disk that may be full.
#include "traces/recording_writer.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "graphs/error.hpp"
#include "tests/catch.hpp"
#include "tests/traces/support.hpp"

using namespace refrain;
using namespace refrain::test;

namespace {

ApiEvent call(std::uint64_t sequence) {
  ApiEvent event;
  event.sequence = sequence;
  event.api = Api::graph_launch;
  return event;
}

[[noreturn]] void die() {
  ::kill(::getpid(), SIGKILL);
  ::_exit(1);
}

/// Runs `work` in a child; it ends with die(), while its writer lives.
template <class Work>
void in_killed_child(Work work) {
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    work();
    ::_exit(1);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(WIFSIGNALED(status));
  CHECK(WTERMSIG(status) == SIGKILL);
}

template <class Work>
std::string failure_of(Work work) {
  try {
    work();
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::input);
    CHECK(std::string(error.what()).find('\n') == std::string::npos);
    return error.what();
  }
  return {};
}

}  // namespace

TEST_CASE("writer: what a killed writer had flushed is read, and the recording is not complete") {
  const std::string path = path_of("killed.rec");
  in_killed_child([&] {
    RecordingWriter writer(path, {"killed", {}});
    for (std::uint64_t i = 0; i < 10; ++i) writer.append(call(i), "step");
    writer.flush();
    for (std::uint64_t i = 10; i < 13; ++i) writer.append(call(i), "step");
    die();
  });
  const Recording recording = read(path);
  CHECK(recording.name == "killed");
  CHECK(recording.timeline.problems.empty());
  CHECK_FALSE(recording.timeline.complete);
  REQUIRE(recording.timeline.calls.size() == 10);
  CHECK(recording.timeline.calls[9].sequence == 9);
}

TEST_CASE("writer: it flushes by itself every 256 records, every mebibyte, and after its header") {
  const std::string path = path_of("automatic.rec");
  in_killed_child([&] {
    RecordingWriter writer(path);
    die();
  });
  CHECK(read(path).timeline.calls.empty());
  in_killed_child([&] {
    RecordingWriter writer(path);
    for (std::uint64_t i = 0; i < 2 * kFlushRecords + 5; ++i) writer.append(call(i), "");
    die();
  });
  CHECK(read(path).timeline.calls.size() == 2 * kFlushRecords);
  in_killed_child([&] {
    RecordingWriter writer(path);
    writer.append(call(0), std::string(kFlushBytes, 'x'));
    writer.append(call(1), "");
    die();
  });
  CHECK(read(path).timeline.calls.size() == 1);
}

TEST_CASE("writer: one that is destroyed without finish leaves all its records and no end") {
  const std::string path = path_of("destroyed.rec");
  {
    RecordingWriter writer(path);
    writer.append(call(1), "a");
    CHECK(writer.records() == 1);
  }
  CHECK(read(path).timeline.calls.size() == 1);
  CHECK_FALSE(read(path).timeline.complete);
}

TEST_CASE("writer: records of every kind, finished, are complete; nothing can follow the end") {
  const std::string path = path_of("finished.rec");
  RecordingWriter writer(path, {"all", {"host", "host driver", "host", "none"}});
  writer.append(call(1), "a");
  Buffer buffer;
  buffer.name = "queries";
  writer.append(buffer);
  writer.append(Graph{}, GraphTie{2, 5});
  writer.append(RangeEvent{.first = 1, .last = 3}, "decode");
  writer.append(ReplayCheck{}, "graph", "axis", "0x7F");
  writer.finish();
  CHECK_FALSE(failure_of([&] { writer.append(call(9), ""); }).empty());
  CHECK_FALSE(failure_of([&] { writer.finish(); }).empty());
  const Recording recording = read(path);
  CHECK(recording.timeline.complete);
  CHECK(recording.timeline.problems.empty());
  CHECK(recording.graphs.size() == 1);
  CHECK(recording.timeline.graphs.at(0).handle == 5);
  CHECK(recording.timeline.buffers.at(0).buffer.name == "queries");
  CHECK(recording.timeline.text(recording.timeline.ranges.at(0).name) == "decode");
  CHECK(recording.timeline.text(recording.timeline.checks.at(0).fill) == "0x7F");
}

TEST_CASE("writer: a folder that is missing and a disk that is full are one line with the file's name") {
  const std::string missing = failure_of([] { RecordingWriter writer("/nonexistent/x.rec"); });
  CHECK(missing.find("/nonexistent/x.rec") != std::string::npos);
  CHECK(missing.find("No such file") != std::string::npos);
  const std::string full = failure_of([] { RecordingWriter writer("/dev/full"); });
  CHECK(full.find("/dev/full") != std::string::npos);
  CHECK(full.find("No space left") != std::string::npos);
}

TEST_CASE("writer: a whole recording replaces its file at once, and leaves it alone when it cannot be written") {
  const std::string path = path_of("whole.rec");
  write_recording(path, full_recording(), {});
  write_recording(path, full_recording(), {});
  CHECK(read(path).timeline.complete);
  const std::filesystem::path folder = std::filesystem::path(path).parent_path() / "whole-folder";
  std::filesystem::create_directories(folder / "target" / "inside");
  const std::string said = failure_of([&] { write_recording((folder / "target").string(), full_recording(), {}); });
  CHECK(said.find((folder / "target").string()) != std::string::npos);
  CHECK(said.find(".part") == std::string::npos);
  std::size_t entries = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder)) ++entries;
  CHECK(entries == 1);  // no temporary file is left
  CHECK_FALSE(failure_of([] { write_recording("/nonexistent/x.rec", full_recording(), {}); }).empty());
}
