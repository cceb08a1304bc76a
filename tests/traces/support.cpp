#include "tests/traces/support.hpp"

#include <fmt/format.h>
#include <unistd.h>
#include <zlib.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>

#include "graphs/error.hpp"
#include "graphs/readers.hpp"
#include "tests/catch.hpp"
#include "traces/recording_reader.hpp"
#include "traces/timeline_builder.hpp"

namespace refrain::test {
namespace {

struct Folder {
  std::filesystem::path path =
      std::filesystem::temp_directory_path() / fmt::format("refrain-traces-test-{}", ::getpid());
  Folder() { std::filesystem::create_directories(path); }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
};

std::string number(const std::optional<std::uint64_t>& value) {
  return value ? fmt::format("{}", *value) : "none";
}

}  // namespace

std::string path_of(const std::string& name) {
  static const Folder folder;
  return (folder.path / name).string();
}

std::string file_of(const std::string& name, std::string_view bytes) {
  const std::string path = path_of(name);
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
  return path;
}

std::string bytes_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return std::move(text).str();
}

std::string gzip(std::string_view text, Flush flush) {
  z_stream stream{};
  REQUIRE(deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK);
  std::string out(deflateBound(&stream, text.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  if (flush == Flush::finish)
    REQUIRE(deflate(&stream, Z_FINISH) == Z_STREAM_END);
  else
    REQUIRE(deflate(&stream, Z_SYNC_FLUSH) == Z_OK);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

std::string gunzip(const std::string& bytes) {
  const std::string path = file_of("gunzip", bytes);
  gzFile file = gzopen(path.c_str(), "rb");
  REQUIRE(file != nullptr);
  std::string text, piece(1 << 16, '\0');
  for (int size; (size = gzread(file, piece.data(), static_cast<unsigned>(piece.size()))) > 0;)
    text.append(piece, 0, static_cast<std::size_t>(size));
  gzclose(file);
  return text;
}

std::string recording_text(const std::vector<std::string>& lines) {
  std::string text = kHeader;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

Recording full_recording() {
  Recording recording;
  recording.name = "a \"quoted\" name\nof two lines";
  recording.has_timeline = true;
  Timeline& timeline = recording.timeline;
  Interner names(timeline);

  ApiEvent call;
  call.sequence = 3;
  call.start_ns = 120;
  call.end_ns = 131;
  call.object = 0xffff'ffff'ffff'fff1;
  call.made = 12;
  call.address = 0xffff'ffff'ffff'ff00;
  call.source = 0x10;
  call.bytes = 0xffff'ffff'ffff'ffff;  // what cudaMalloc(-1) asks for
  call.thread = 4;
  call.stream = 0xffff'ffff;
  call.capture = 6;
  call.code = -900;
  call.detail = names.id("k<int, \xc3\xa9>\t\"x\"");
  call.api = Api::memcpy_async_d2h_pinned;
  call.target = Target::cuda_malloc_pointer;
  call.mode = CaptureMode::thread_local_;
  call.space = MemorySpace::pinned;
  call.source_space = MemorySpace::managed;
  ApiEvent plain;
  plain.sequence = 9;
  timeline.calls = {call, plain};

  timeline.ranges = {{1, 5, 100, 200, 2, names.id("inner"), false, {}},
                     {0, 20, 90, 300, 2, names.id("decode"), true, {8, 5}}};

  Buffer buffer;
  buffer.name = "kv pool";
  buffer.base = 0x7f00;
  buffer.bytes = 640;
  buffer.space = MemorySpace::managed;
  buffer.dtype = Dtype::e4m3;
  buffer.role = Role::kv_pool;
  buffer.allocation = 77;
  buffer.born = 2;
  buffer.died = 18;
  buffer.reserved = {64, 128};
  buffer.shared = true;
  timeline.buffers = {{Buffer{}}, {buffer}};

  Graph graph;
  graph.name = "step\n  \"one\"";
  graph.nodes.resize(2);
  graph.nodes[0].name = "f(a, b)";
  graph.nodes[0].has_contract = true;
  graph.nodes[1].kind = NodeKind::child;
  graph.nodes[1].bodies.resize(1);
  graph.edges = {{0, 1, EdgeKind::programmatic}};
  graph.capture.phase = "decode";
  graph.notes = {"a note\n  with    blanks"};
  Graph untied;
  untied.name = "untied";
  recording.graphs = {untied, graph};
  timeline.graphs = {{8, 0x7fff'ffff'ffff'ffff, 1}};

  ReplayCheck check;
  check.sequence = 15;
  check.kind = CheckKind::eager;
  check.graph = names.id("step");
  check.axis = names.id("null block");
  check.fill = names.id("0xFF");
  check.finite = false;
  check.bit_equal = false;
  check.max_abs_error = 2.5e-4;
  check.tolerance = 0.1;
  check.first_nan_node = 1;
  ReplayCheck infinite;
  infinite.sequence = 16;
  infinite.max_abs_error = HUGE_VAL;
  timeline.checks = {check, infinite};
  return recording;
}

std::string describe(const Recording& recording) {
  const Timeline& t = recording.timeline;
  std::string out = fmt::format("timeline {} complete {} steps {} told {}\n", recording.has_timeline, t.complete,
                                int(t.step_basis), t.steps_told);
  for (const ApiEvent& e : t.calls)
    out += fmt::format("call {} {} {} {} {} {:x} {:x} {} {} {} {} {} {} {} {} {} {} {}\n", e.sequence, e.start_ns,
                       e.end_ns, e.object, e.made, e.address, e.source, e.bytes, e.thread, e.stream, e.capture, e.code,
                       t.text(e.detail), int(e.api), int(e.target), int(e.mode), int(e.space), int(e.source_space));
  for (const RangeEvent& e : t.ranges)
    out += fmt::format("range {} {} {} {} {} {} {} {} {}\n", e.first, e.last, e.start_ns, e.end_ns, e.thread,
                       t.text(e.name), e.step, e.rows.bucket, e.rows.real);
  for (const auto& [b] : t.buffers)
    out += fmt::format("buffer {} {:x} {} {} {} {} {} {} {} {} {} {}\n", b.name, b.base, b.bytes, int(b.space),
                       int(b.dtype), int(b.role), b.allocation, number(b.born), number(b.died), b.reserved.begin,
                       b.reserved.end, b.shared);
  for (const GraphEvent& e : t.graphs) out += fmt::format("tie {} {} {}\n", e.sequence, e.handle, e.graph);
  for (const ReplayCheck& e : t.checks)
    out +=
        fmt::format("check {} {} {} {} {} {} {} {} {} {}\n", e.sequence, int(e.kind), t.text(e.graph), t.text(e.axis),
                    t.text(e.fill), e.finite, e.bit_equal, e.max_abs_error, e.tolerance, number(e.first_nan_node));
  for (const Graph& graph : recording.graphs) out += write_graph_json(graph);
  return out;
}

Recording read(const std::string& path, DeviceLine* device) {
  TimelineBuilder builder;
  read_recording(path, builder);
  if (device != nullptr) *device = builder.device();
  return builder.take();
}

std::uint64_t problems(const Recording& recording, std::string_view name) {
  for (const ReadProblem& problem : recording.timeline.problems)
    if (problem.name == name) return problem.count;
  return 0;
}

std::string error_of(const std::string& path) {
  try {
    (void)read(path);
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::input);
    return error.what();
  }
  return {};
}

}  // namespace refrain::test
