// Rows by the payload of a range: every column that an Nsight export may have it in,
// the arguments of a PyTorch range, the fields of a recording, and payloads that
// must tell nothing.
#include "traces/row_payload.hpp"

#include <fmt/format.h>

#include "tests/catch.hpp"
#include "tests/traces/export_file.hpp"
#include "tests/traces/step_world.hpp"
#include "tests/traces/support.hpp"
#include "tests/traces/trace_support.hpp"
#include "traces/cut_steps.hpp"
#include "traces/readers.hpp"
#include "traces/step_stats.hpp"

using namespace refrain;
using namespace refrain::test;

namespace {

using Known = std::optional<std::uint64_t>;

constexpr int kPushPop = 59, kDomainCreate = 75;

/// NVTX_EVENTS with every column that the documented schema has.
class Nvtx {
 public:
  explicit Nvtx(const std::string& name) : file(name) {
    file.run(
        "CREATE TABLE NVTX_EVENTS (start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL, rangeId INTEGER, "
        "category INTEGER, color INTEGER, text TEXT, globalTid INTEGER, endGlobalTid INTEGER, textId INTEGER, "
        "domainId INTEGER, uint64Value INTEGER, int64Value INTEGER, doubleValue REAL, uint32Value INTEGER, "
        "int32Value INTEGER, floatValue REAL, jsonTextId INTEGER, jsonText TEXT, binaryData TEXT)");
  }

  /// `columns`: `, int64Value` and so on, `values`: `, 8` and so on.
  void range(const std::string& name, int start, int end, const std::string& columns = "",
             const std::string& values = "", int domain = 0) {
    file.run(
        fmt::format("INSERT INTO NVTX_EVENTS (start, end, eventType, text, globalTid, domainId{}) VALUES ({}, {}, {}, "
                    "'{}', {}, {}{})",
                    columns, start, end, kPushPop, name, global(100, 1), domain, values));
  }
  void domain(const std::string& name, int id, int pid = 100) {
    file.run(fmt::format(
        "INSERT INTO NVTX_EVENTS (start, eventType, textId, globalTid, domainId) VALUES (1, {}, {}, {}, {})",
        kDomainCreate, file.string(name), global(pid, 1), id));
  }
  void launch(int start, int correlation) {
    file.call("cudaGraphLaunch_v10000", start, start + 2, correlation);
    file.kernel("attention", start + 3, correlation);
  }

  ExportFile file;
};

std::vector<StepStats> steps_of_file(const std::string& path) {
  return step_stats(load_recording(path).timeline);
}

/// Of a step `decode_step_1` with a range inside it that has this payload.
StepStats with_payload(const std::string& inner, const std::string& column, const std::string& value) {
  static int files = 0;
  Nvtx nvtx(fmt::format("payload-{}.sqlite", ++files));
  nvtx.range("decode_step_1", 100, 150);
  nvtx.range(inner, 105, 145, ", " + column, ", " + value);
  nvtx.launch(110, 1);
  const auto steps = steps_of_file(nvtx.file.path());
  REQUIRE(steps.size() == 1);
  return steps[0];
}

RowCounts of_json(std::string_view json) {
  RowPayload payload;
  payload.take_json(json);
  return payload.rows();
}

constexpr std::uint32_t kNone = RowCounts::kNotTold;

}  // namespace

TEST_CASE("row payload: a whole number of any integer column is what the whole name of its range says") {
  for (const char* column : {"uint64Value", "int64Value", "uint32Value", "int32Value"}) {
    INFO(column);
    for (const char* name : {"bucket", "bucket_rows", "padded rows"}) {
      const StepStats step = with_payload(name, column, "16");
      CHECK(step.rows == Known(16));
      CHECK_FALSE(step.real_rows);
    }
    for (const char* name : {"rows", "real_rows", "real rows"}) {
      const StepStats step = with_payload(name, column, "11");
      CHECK(step.real_rows == Known(11));
      CHECK_FALSE(step.rows);
    }
  }
}

TEST_CASE("row payload: a number under another name or of another type or out of range tells nothing") {
  for (const char* name : {"decode", "pad rows", "rows of weights", "Bucket sort", "step", "BUCKET"}) {
    INFO(name);
    const StepStats step = with_payload(name, "int64Value", "8");
    CHECK_FALSE(step.rows);
    CHECK_FALSE(step.real_rows);
  }
  for (const char* column : {"doubleValue", "floatValue"}) CHECK_FALSE(with_payload("bucket", column, "8.0").rows);
  // 2^63 as SQLite keeps an unsigned number of 64 bits, and a number of ten digits.
  for (const char* value : {"-1", "0", "-9223372036854775808", "9223372036854775807", "1000000000", "x'08'"}) {
    INFO(value);
    CHECK_FALSE(with_payload("bucket", "int64Value", value).rows);
  }
  CHECK(with_payload("bucket", "int64Value", "999999999").rows == Known(999'999'999));
  CHECK(with_payload("rows", "int64Value", "0").real_rows == Known(0));  // a step of pads alone
  CHECK_FALSE(with_payload("rows", "int64Value", "-1").real_rows);
  CHECK_FALSE(with_payload("bucket", "int64Value, uint64Value", "8, 16").rows);  // which of the two?
}

TEST_CASE("row payload: JSON of a schema's fields tells both in the step's own range or in one inside") {
  CHECK(with_payload("attention", "jsonText", R"('{"rows": 5, "bucket": 8}')").rows == Known(8));
  CHECK(with_payload("attention", "jsonText", R"('{"rows": 5, "bucket": 8}')").real_rows == Known(5));
  Nvtx nvtx("payload-own.sqlite");
  const int id = nvtx.file.string(R"({"payload": [{"real_rows": "5", "padded_rows": 8, "phase": "decode"}]})");
  nvtx.range("decode_step_1", 100, 150, ", jsonTextId", fmt::format(", {}", id));
  nvtx.range("inner", 105, 145, ", jsonText", R"(, '{"rows": 1, "bucket": 2}')");
  nvtx.launch(110, 1);
  const auto steps = steps_of_file(nvtx.file.path());
  REQUIRE(steps.size() == 1);
  CHECK(steps[0].rows == Known(8));  // the step's own counts before that of a range inside
  CHECK(steps[0].real_rows == Known(5));
}

TEST_CASE("row payload: JSON that contradicts itself or is none tells nothing") {
  CHECK(of_json(R"({"rows": 5, "bucket": 8})") == RowCounts{8, 5});
  CHECK(of_json(R"({"bucket rows": 8})") == RowCounts{8, kNone});
  CHECK(of_json(R"({"rows": 5, "real_rows": 5})") == RowCounts{kNone, 5});
  CHECK(of_json(R"({"rows": 8, "real_rows": 5})") == RowCounts{});  // which of the two is in use?
  CHECK(of_json(R"({"rows": 5, "real_rows": 6, "bucket": 8})") == RowCounts{8, kNone});
  CHECK(of_json(R"([{"bucket": 8}, {"bucket": 16}])") == RowCounts{});
  CHECK(of_json(R"({"rows": 9, "bucket": 8})") == RowCounts{});  // more in use than there are
  for (const char* value : {"-1", "8.0", "1e1", "true", "null", "\"8 rows\"", "\"\"", "\"0x8\"", "9223372036854775808",
                            "18446744073709551616", "[8]"}) {
    INFO(value);
    CHECK(of_json(fmt::format(R"({{"bucket": {}, "rows": 3}})", value)) == RowCounts{kNone, 3});
  }
  for (const char* text : {"", "8", "\"rows\"", "{\"rows\": 5", "rows: 5", "[5, \"rows\"]", "{\"pad_rows\": 3}"}) {
    INFO(text);
    CHECK(of_json(text) == RowCounts{});
  }
  CHECK(of_json(R"({"a":{"b":{"c":{"d":{"rows": 5}}}}})") == RowCounts{});
  CHECK(of_json(std::string(40'000, '[') + "\"rows\"") == RowCounts{});
  CHECK(of_json(std::string(20'000, '[') + "\"rows\"" + std::string(20'000, ']')) == RowCounts{});
  CHECK(of_json("{\"rows\": 5}" + std::string(100'000, ' ')) == RowCounts{});
}

TEST_CASE("row payload: more rows in use than the bucket has are told by neither of two ranges") {
  Nvtx nvtx("payload-contradicting.sqlite");
  nvtx.range("decode_step_1", 100, 150);
  nvtx.range("rows", 102, 148, ", uint32Value", ", 9");
  nvtx.range("bucket", 104, 146, ", uint32Value", ", 8");
  nvtx.launch(110, 1);
  const auto steps = steps_of_file(nvtx.file.path());
  REQUIRE(steps.size() == 1);
  CHECK_FALSE(steps[0].rows);
  CHECK_FALSE(steps[0].real_rows);
}

TEST_CASE("row payload: a payload counts before the name of its range") {
  const StepStats step = with_payload("bucket 8, 5 rows", "jsonText", R"('{"bucket": 16}')");
  CHECK(step.rows == Known(16));
  CHECK(step.real_rows == Known(5));
}

TEST_CASE("row payload: in the runtime's own domain a range step is a step of so many rows") {
  Nvtx nvtx("payload-domain.sqlite");
  nvtx.domain("CCCL", 2);
  nvtx.domain("refrain", 3);
  nvtx.domain("refrain", 2, 200);  // of another process, where that number is its
  for (int i = 0; i < 3; ++i) {
    nvtx.range("step", 100 * i + 100, 100 * i + 150, ", uint64Value", fmt::format(", {}", 5 + i), 3);
    nvtx.range("bucket", 100 * i + 102, 100 * i + 148, ", uint64Value", ", 8", 3);
    nvtx.range("replay", 100 * i + 104, 100 * i + 146, ", uint64Value", ", 226", 3);
    nvtx.range("step", 100 * i + 160, 100 * i + 170, ", uint64Value", ", 70", 2);
    nvtx.launch(100 * i + 110, 10 + i);
  }
  const Recording recording = load_recording(nvtx.file.path());
  CHECK(recording.timeline.step_basis == StepBasis::marked);
  const auto steps = step_stats(recording.timeline);
  REQUIRE(steps.size() == 3);
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(steps[i].rows == Known(8));
    CHECK(steps[i].real_rows == Known(5 + i));
    CHECK(steps[i].replays == 1);
  }
}

TEST_CASE("row payload: an export without payload columns or an event type is read as before") {
  ExportFile file("payload-none.sqlite");
  file.run("CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, text TEXT, globalTid INTEGER)");
  file.run(fmt::format("INSERT INTO NVTX_EVENTS VALUES (100, 150, 'decode_step_1', {})", global(100, 1)));
  file.run(fmt::format("INSERT INTO NVTX_EVENTS VALUES (105, 145, 'bucket', {})", global(100, 1)));
  file.call("cudaGraphLaunch_v10000", 110, 112, 1);
  const auto steps = steps_of_file(file.path());
  REQUIRE(steps.size() == 1);
  CHECK_FALSE(steps[0].rows);
}

TEST_CASE("row payload: arguments of a PyTorch range tell rows and those of an operator or a kernel do not") {
  const auto event = [](const char* category, const char* name, int ts, int dur, const std::string& args) {
    return fmt::format(R"({{"ph":"X","cat":"{}","name":"{}","pid":1,"tid":1,"ts":{},"dur":{},"args":{{{}}}}})",
                       category, name, ts, dur, args);
  };
  const std::string path =
      file_of("payload.json",
              R"({"schemaVersion": 1, "traceEvents": [)" +
                  event("user_annotation", "decode_step_1", 100, 50, R"("External id": 3, "rows": 5, "bucket": "8")") +
                  "," + event("user_annotation", "decode_step_2", 200, 50, R"("rows": 5.5, "bucket": [8])") + "," +
                  event("cpu_op", "rows", 205, 10, R"("rows": 7, "bucket": 8)") + "," +
                  event("cuda_runtime", "cudaGraphLaunch", 110, 5, R"("correlation": 7, "rows": 6)") + "," +
                  event("kernel", "k", 120, 5, R"("correlation": 7, "stream": 7, "device": 0, "bucket": 9)") + "]}");
  const auto steps = steps_of_file(path);
  REQUIRE(steps.size() == 2);
  CHECK(steps[0].rows == Known(8));
  CHECK(steps[0].real_rows == Known(5));
  CHECK_FALSE(steps[1].rows);
  CHECK_FALSE(steps[1].real_rows);
}
