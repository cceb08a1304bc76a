// From a path to a recording, whatever the file holds.
#include "traces/readers.hpp"

#include <filesystem>

#include "graphs/error.hpp"
#include "tests/catch.hpp"
#include "tests/traces/support.hpp"
#include "traces/recording_writer.hpp"

using namespace refrain;
using namespace refrain::test;

namespace {

std::string refusal_of(const std::string& path) {
  try {
    (void)load_recording(path);
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::input);
    return error.what();
  }
  return {};
}

}  // namespace

TEST_CASE("load: gzip and plain recordings have a timeline and are named after their file") {
  const std::string path = path_of("run.rec");
  write_recording(path, full_recording(), {});
  for (const std::string& file : {path, file_of("run.jsonl", gunzip(bytes_of(path)))}) {
    const Recording recording = load_recording(file);
    CHECK(recording.name == file);
    CHECK(recording.has_timeline);
    CHECK(recording.timeline.complete);
    CHECK(describe(recording) == describe(full_recording()));
  }
}

TEST_CASE("load: a dump and a graph file are recordings without a timeline") {
  const std::string dot = std::string(REFRAIN_SOURCE_DIR) + "/traces/samples/llama_decode.dot";
  const Recording dump = load_recording(dot);
  CHECK_FALSE(dump.has_timeline);
  CHECK(dump.timeline.empty());
  CHECK(dump.name == dot);
  CHECK_FALSE(dump.graphs.empty());
  // Longer than the head that is looked at first.
  const std::string json =
      "{\"schema\":\"refrain.graph/1\",\"nodes\":[],\"edges\":[]," + std::string(200'000, ' ') + "\"name\":\"far\"}";
  const Recording graph = load_recording(file_of("graph.json", json));
  CHECK_FALSE(graph.has_timeline);
  REQUIRE(graph.graphs.size() == 1);
  CHECK(graph.graphs[0].name == "far");
}

TEST_CASE("load: a graph whose text speaks of recordings is still a graph") {
  const Recording graph = load_recording(
      file_of("talk.json", R"({"schema":"refrain.graph/1","name":"refrain.recording/1","nodes":[],"edges":[]})"));
  CHECK_FALSE(graph.has_timeline);
  CHECK(graph.graphs.size() == 1);
  const Recording recording =
      load_recording(file_of("late.jsonl", "{\"name\":\"x\" , \"schema\" : \"refrain.recording/1\"}\n"));
  CHECK(recording.has_timeline);
}

TEST_CASE("load: what cannot be read names the file and what was expected") {
  CHECK(refusal_of("/nonexistent/x.rec").find("No such file") != std::string::npos);
  CHECK(refusal_of("/tmp").find("directory") != std::string::npos);
  for (const char* text : {"", " \n\t "}) CHECK(refusal_of(file_of("empty", text)).find("empty") != std::string::npos);
  const std::string other = refusal_of(file_of("other.txt", "hello\n"));
  for (const char* word : {"other.txt", "byte 0", "refrain.recording/1", "refrain.graph/1", "DOT"})
    CHECK(other.find(word) != std::string::npos);
  const std::string packed = refusal_of(file_of("packed.dot.gz", gzip("digraph dot {\n}\n")));
  for (const char* word : {"packed.dot.gz", "byte 0", "refrain.recording/1", "gunzip"})
    CHECK(packed.find(word) != std::string::npos);
  CHECK(refusal_of(file_of("newer.jsonl", "{\"schema\":\"refrain.recording/9\"}\n")).find("refrain.recording/9") !=
        std::string::npos);
}

TEST_CASE("load: the recordings of the rules' cases read without a problem and are complete or say that they are not") {
  const std::filesystem::path cases = std::filesystem::path(REFRAIN_SOURCE_DIR) / "tests" / "cases";
  std::size_t read = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(cases)) {
    if (entry.path().extension() != ".jsonl" || entry.path().parent_path().filename().string().starts_with("RF80"))
      continue;
    INFO(entry.path());
    const Recording recording = load_recording(entry.path().string());
    CHECK(recording.has_timeline);
    for (const ReadProblem& problem : recording.timeline.problems) {
      INFO(problem.name << " at byte " << problem.first_offset << ": " << problem.sentence);
      CHECK(problem.count == 0);
    }
    ++read;
  }
  CHECK(read > 0);
}

TEST_CASE("load: every reader has a name and knows its own files by their first bytes") {
  for (const TraceReader& reader : trace_readers()) CHECK_FALSE(std::string(reader.name).empty());
  const TraceReader& recordings = trace_readers()[0];
  CHECK(recordings.sniff(kHeader));
  CHECK(recordings.sniff("\x1f\x8b\x08"));
  CHECK(recordings.sniff("{\"schema\":\"refrain.recording/2\""));
  for (const char* head : {"", "{", "\x1f", "digraph {", "{\"schema\":\"refrain.graph/1\"}",
                           "{\"name\":\"refrain.recording/1\"}", "\n{\"schema\":\"refrain.recording/1\"}"})
    CHECK_FALSE(recordings.sniff(head));
}
