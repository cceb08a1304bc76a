#include "traces/readers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>

#include "graphs/error.hpp"
#include "graphs/readers.hpp"
#include "graphs/text.hpp"
#include "traces/byte_source.hpp"
#include "traces/cut_steps.hpp"
#include "traces/kineto/kineto_reader.hpp"
#include "traces/nsys/nsys_reader.hpp"
#include "traces/recording_reader.hpp"
#include "traces/timeline_builder.hpp"

namespace refrain {
namespace {

constexpr std::array<TraceReader, 3> kReaders{{
    {.name = "refrain.recording/1", .sniff = looks_like_recording, .read = read_recording},
    {.name = "Nsight Systems SQLite", .sniff = looks_like_nsys, .read = read_nsys},
    {.name = "PyTorch profiler JSON", .sniff = looks_like_kineto, .read = read_kineto},
}};

constexpr std::size_t kHeadBytes = std::size_t{64} << 10;

[[noreturn]] void refuse(const std::string& path, const std::string& tried, const std::string& came_back) {
  throw Error(ErrorKind::input, tried, came_back, path);
}

std::ifstream open(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) refuse(path, "reading", "is a directory; name a file");
  std::ifstream in(path, std::ios::binary);
  if (!in) refuse(path, "reading", fmt::format("{}; check the path", std::strerror(errno)));
  return in;
}

std::string known_formats() {
  std::string names;
  for (const TraceReader& reader : kReaders) names += fmt::format("{}{}", names.empty() ? "" : ", ", reader.name);
  for (const GraphReader& reader : graph_readers()) names += fmt::format(", {}", reader.name);
  return names;
}

std::vector<Graph> read_graphs(const std::string& text, const std::string& path) {
  if (trim(text).empty())
    refuse(path, "byte 0", fmt::format("expected one of {}, found an empty file", known_formats()));
  const auto readers = graph_readers();
  const auto reader = std::find_if(readers.begin(), readers.end(), [&](const GraphReader& r) { return r.sniff(text); });
  if (reader == readers.end())
    refuse(path, "byte 0",
           fmt::format("expected one of {}, found another format; see refrain audit --help", known_formats()));
  return reader->read(text, path);
}

/// What gzip holds decides; where that is nothing known, the recording reader says what it lacks.
const TraceReader* reader_of(const std::string& path, const std::string& head) {
  std::string text = head;
  if (is_gzip(head)) {
    ByteSource source(path);
    text.resize(kHeadBytes);
    text.resize(source.read(text));
  }
  for (const TraceReader& reader : kReaders)
    if (reader.sniff(text)) return &reader;
  return is_gzip(head) ? &kReaders[0] : nullptr;
}

}  // namespace

std::span<const TraceReader> trace_readers() {
  return kReaders;
}

Recording load_recording(const std::string& path, const ReadProgress& progress) {
  std::ifstream in = open(path);
  std::string text(kHeadBytes, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(in.gcount()));
  Recording recording;
  if (const TraceReader* reader = reader_of(path, text); reader != nullptr) {
    TimelineBuilder builder;
    reader->read(path, builder, progress);
    recording = builder.take();
    cut_steps(recording.timeline);
  } else {
    std::ostringstream rest;
    if (in) rest << in.rdbuf();
    if (in.bad()) refuse(path, "reading", "an input error in the middle of the file");
    recording.graphs = read_graphs(text += rest.view(), path);
  }
  recording.name = path;
  return recording;
}

}  // namespace refrain
