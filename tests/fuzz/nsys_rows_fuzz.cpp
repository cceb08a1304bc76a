// Sound SQLite files whose rows are the fuzzer's: each byte chooses a table, then
// each of its columns is absent, NULL, a number or a text. Mutating a file's bytes
// hardly gets past SQLite; this reaches the joins.
#include <sqlite3.h>

#include <array>
#include <cstdlib>
#include <memory>

#include "tests/fuzz/fuzz_support.hpp"
#include "traces/nsys/nsys_reader.hpp"

using namespace refrain;

namespace {

struct Table {
  const char* name;
  const char* columns;
  int count;
};

constexpr std::array<Table, 13> kTables{{
    {"StringIds", "id INTEGER PRIMARY KEY, value TEXT", 2},
    {"CUPTI_ACTIVITY_KIND_RUNTIME", "start, end, globalTid, correlationId, nameId, returnValue", 6},
    {"CUPTI_ACTIVITY_KIND_KERNEL", "start, end, deviceId, streamId, correlationId, globalPid, shortName, graphNodeId",
     8},
    {"CUPTI_ACTIVITY_KIND_MEMCPY",
     "start, end, deviceId, streamId, correlationId, globalPid, bytes, copyKind, srcKind, dstKind, graphNodeId", 11},
    {"CUPTI_ACTIVITY_KIND_MEMSET",
     "start, end, deviceId, streamId, correlationId, globalPid, bytes, memKind, graphNodeId", 9},
    {"CUPTI_ACTIVITY_KIND_GRAPH_TRACE", "start, end, deviceId, streamId, correlationId, globalPid, graphExecId", 7},
    {"CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", "globalPid, correlationId, streamId, eventId", 4},
    {"CUPTI_ACTIVITY_KIND_CUDA_EVENT", "globalPid, correlationId, eventId, streamId", 4},
    {"CUDA_GRAPH_EVENTS", "start, globalTid, graphExecId", 3},
    {"CUDA_GRAPH_NODE_EVENTS", "start, globalTid, graphNodeId, originalGraphNodeId", 4},
    {"CUDA_GPU_MEMORY_USAGE_EVENTS", "globalPid, correlationId, address, bytes, memKind", 5},
    {"NVTX_EVENTS", "start, end, globalTid, text, textId, eventType, domainId, jsonText, uint64Value, doubleValue", 10},
    {"META_DATA_CAPTURE", "name, value", 2},
}};

constexpr std::array<const char*, 14> kNames = {"cudaLaunchKernel_v7000",
                                                "cudaGraphLaunch_v10000",
                                                "cudaStreamBeginCapture_v10000",
                                                "cudaStreamEndCapture_v10000",
                                                "cudaMemcpyAsync_v3020",
                                                "cudaGraphInstantiate_v12000",
                                                "cudaStreamSynchronize_v3020",
                                                "cudaEventRecord_v3020",
                                                "cudaMalloc_v3020",
                                                "cudaThreadExchangeStreamCaptureMode_v10010",
                                                "cudaEventQuery_v3020",
                                                "cuModuleLoadData",
                                                "bucket",
                                                R"({"rows": 5, "bucket": 8})"};

/// Takes the input from its front; zeros past its end.
class Bytes {
 public:
  Bytes(const std::uint8_t* data, std::size_t size) : at_(data), end_(data + size) {}
  [[nodiscard]] bool empty() const { return at_ == end_; }
  [[nodiscard]] std::uint8_t take() { return empty() ? 0 : *at_++; }
  [[nodiscard]] std::int64_t number(int bytes) {
    std::uint64_t value = 0;
    for (int i = 0; i < bytes; ++i) value = value << 8 | take();
    return static_cast<std::int64_t>(value);
  }

 private:
  const std::uint8_t *at_, *end_;
};

void run(sqlite3* database, const std::string& sql) {
  if (sqlite3_exec(database, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) std::abort();
}

void bind(sqlite3_stmt* row, int column, Bytes& bytes) {
  const std::uint8_t kind = bytes.take();
  if (kind < 0xd0)
    sqlite3_bind_int64(row, column, kind);
  else if (kind < 0xe0)
    sqlite3_bind_int64(row, column, bytes.number(2));
  else if (kind < 0xe8)
    sqlite3_bind_int64(row, column, bytes.number(8));
  else if (kind < 0xf0)
    sqlite3_bind_text(row, column, kNames[bytes.take() % kNames.size()], -1, SQLITE_STATIC);
  else if (kind < 0xf4)
    sqlite3_bind_int64(row, column, (std::int64_t{bytes.take()} << 24) + 1);  // a process and its thread 1
  else if (kind < 0xf8)
    sqlite3_bind_double(row, column, static_cast<double>(bytes.number(2)) / 8);
  else if (kind < 0xfc) {
    const std::string text{static_cast<char>(bytes.take()), static_cast<char>(bytes.take()), '1'};
    sqlite3_bind_text(row, column, text.c_str(), -1, SQLITE_TRANSIENT);
  } else
    sqlite3_bind_null(row, column);
}

/// Makes each table with its first row.
void write_rows(sqlite3* database, Bytes bytes) {
  std::array<sqlite3_stmt*, kTables.size()> rows{};
  while (!bytes.empty()) {
    const std::size_t index = bytes.take() % kTables.size();
    const Table& table = kTables[index];
    if (rows[index] == nullptr) {
      if (index > 0) run(database, std::string("CREATE TABLE ") + table.name + " (" + table.columns + ")");
      std::string sql = std::string("INSERT OR IGNORE INTO ") + table.name + " VALUES (?";
      for (int i = 1; i < table.count; ++i) sql += ", ?";
      if (sqlite3_prepare_v2(database, (sql + ")").c_str(), -1, &rows[index], nullptr) != SQLITE_OK) std::abort();
    }
    for (int column = 1; column <= table.count; ++column) bind(rows[index], column, bytes);
    (void)sqlite3_step(rows[index]);  // a text as a primary key is refused, which is no fault
    sqlite3_reset(rows[index]);
  }
  for (sqlite3_stmt* row : rows) sqlite3_finalize(row);
}

void write_file(const std::string& path, Bytes bytes) {
  sqlite3* database = nullptr;
  if (sqlite3_open(path.c_str(), &database) != SQLITE_OK) std::abort();
  run(database,
      "PRAGMA synchronous = OFF; PRAGMA journal_mode = OFF; BEGIN; "
      "CREATE TABLE META_DATA_EXPORT (name TEXT, value TEXT)");
  run(database, std::string("CREATE TABLE StringIds (") + kTables[0].columns + ")");
  // Names under small ids, so that a call means something without luck.
  for (std::size_t i = 0; i < kNames.size(); ++i)
    run(database, "INSERT INTO StringIds VALUES (" + std::to_string(i) + ", '" + kNames[i] + "')");
  write_rows(database, bytes);
  run(database, "COMMIT");
  sqlite3_close(database);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string& path = fuzz::fresh_file();
  write_file(path, {data, size});
  fuzz::allow_refusal([&] { fuzz::judge_trace(read_nsys, path); });
  return 0;
}
