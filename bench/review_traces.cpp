#include "bench/review_traces.hpp"

#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <utility>

#include "graphs/error.hpp"

namespace refrain::bench {
namespace {

enum Call : std::uint32_t { kCopy, kReplay, kLaunch, kRecord, kWait, kCalls };
constexpr std::array<const char*, kCalls> kCallNames = {"cudaMemcpyAsync", "cudaGraphLaunch", "cudaLaunchKernel",
                                                        "cudaEventRecord", "cudaEventSynchronize"};
constexpr std::array<const char*, 6> kKernelNames = {
    "void attention_decode_kernel<__nv_bfloat16, 128, 16>(AttentionParams)",
    "void rms_norm_kernel<__nv_bfloat16, 8>(__nv_bfloat16*, __nv_bfloat16 const*, float, int)",
    "nvjet_tst_64x8_64x16_4x1_v_bz_splitK_TNT",
    "void rope_and_cache_kernel<__nv_bfloat16, 128>(RopeParams)",
    "void silu_and_mul_kernel<__nv_bfloat16>(__nv_bfloat16*, __nv_bfloat16 const*, int)",
    "void sample_top_k_kernel<float, 1024>(float const*, int*, int, float, unsigned long)"};
constexpr std::uint32_t kNodes = 78, kEager = 7, kSample = 5;
constexpr std::uint64_t kStepNs = 400'000, kFirstNs = 1'000'000'000, kPid = 4242;

struct Span {
  std::uint64_t start_ns, end_ns;
  std::uint32_t correlation;
};

/// Node 0 is no node of a graph; Writer: range, call, kernel, copy.
template <class Writer>
void write_step(Writer& writer, std::uint64_t step) {
  const std::uint64_t begin = kFirstNs + step * kStepNs;
  auto correlation = static_cast<std::uint32_t>(step * 16 + 1);
  std::uint64_t host = begin + 1'000, device = begin + 12'000;
  const auto call = [&](Call name) {
    writer.call(name, {host, host + 2'500, ++correlation});
    host += 3'500;
  };
  const auto kernel = [&](std::uint32_t name, std::uint32_t node) {
    writer.kernel(name, {device, device + 2'800, correlation}, node);
    device += 3'000;
  };
  const auto copy = [&](bool to_device) {
    writer.copy(to_device, {device, device + 1'000, correlation});
    device += 1'500;
  };
  call(kCopy);
  copy(true);
  call(kReplay);
  for (std::uint32_t node = 0; node < kNodes; ++node) kernel(node % kSample, node + 1);
  for (std::uint32_t i = 0; i < kEager; ++i) {
    call(kLaunch);
    kernel(kSample, 0);
  }
  call(kCopy);
  copy(false);
  call(kRecord);
  writer.call(kWait, {host, device + 2'000, ++correlation});
  writer.range(step, begin, std::max(host, device) + 5'000);
}

class Counter {
 public:
  void range(std::uint64_t, std::uint64_t, std::uint64_t) {}
  void call(Call name, Span) { ++counts[fmt::format("call {}", kCallNames[name])]; }
  void kernel(std::uint32_t name, Span, std::uint32_t) { ++counts[fmt::format("kernel {}", kKernelNames[name])]; }
  void copy(bool, Span) { ++counts["copies"]; }
  TraceCounts counts;
};

class NsysWriter {
 public:
  explicit NsysWriter(const std::string& path) : path_(path) {
    check(sqlite3_open(path.c_str(), &database_));
    run("PRAGMA synchronous = OFF; PRAGMA journal_mode = OFF; BEGIN;"
        "CREATE TABLE META_DATA_EXPORT (name TEXT, value TEXT);"
        "INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_SCHEMA_VERSION', '3.24.14');"
        "CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);"
        "CREATE TABLE NVTX_EVENTS (start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL, text TEXT,"
        " globalTid INTEGER, textId INTEGER);"
        "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER NOT NULL, end INTEGER NOT NULL, eventClass INTEGER"
        " NOT NULL, globalTid INTEGER, correlationId INTEGER, nameId INTEGER NOT NULL, returnValue INTEGER NOT NULL,"
        " callchainId INTEGER);"
        "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT"
        " NULL, contextId INTEGER NOT NULL, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER,"
        " demangledName INTEGER NOT NULL, shortName INTEGER NOT NULL, gridX INTEGER NOT NULL, gridY INTEGER NOT NULL,"
        " gridZ INTEGER NOT NULL, blockX INTEGER NOT NULL, blockY INTEGER NOT NULL, blockZ INTEGER NOT NULL,"
        " graphNodeId INTEGER);"
        "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT"
        " NULL, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, bytes INTEGER NOT NULL, copyKind"
        " INTEGER NOT NULL, srcKind INTEGER, dstKind INTEGER, graphNodeId INTEGER);");
    for (std::size_t i = 0; i < kCallNames.size(); ++i) string(i, kCallNames[i]);
    for (std::size_t i = 0; i < kKernelNames.size(); ++i) string(kCalls + i, kKernelNames[i]);
    const std::string tid = std::to_string((kPid << 24) + kPid), pid = std::to_string(kPid << 24);
    range_ = prepare("INSERT INTO NVTX_EVENTS VALUES (?, ?, 59, 'decode_step_' || ?, " + tid + ", NULL)");
    call_ = prepare("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?, ?, 0, " + tid + ", ?, ?, 0, NULL)");
    kernel_ = prepare("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (?, ?, 0, 1, 7, ?, " + pid +
                      ", ?4, ?4, 132, 1, 1, 256, 1, 1, nullif(?, 0))");
    copy_ = prepare("INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (?, ?, 0, 7, ?, " + pid + ", 4096, ?, ?, ?, NULL)");
  }
  ~NsysWriter() {
    for (sqlite3_stmt* row : {range_, call_, kernel_, copy_}) sqlite3_finalize(row);
    sqlite3_close(database_);
  }
  NsysWriter(const NsysWriter&) = delete;
  NsysWriter& operator=(const NsysWriter&) = delete;

  void range(std::uint64_t step, std::uint64_t start, std::uint64_t end) { insert(range_, {start, end, step}); }
  void call(Call name, Span at) { insert(call_, {at.start_ns, at.end_ns, at.correlation, name}); }
  void kernel(std::uint32_t name, Span at, std::uint32_t node) {
    const std::uint64_t id = node == 0 ? 0 : std::uint64_t{3} << 32 | node;
    insert(kernel_, {at.start_ns, at.end_ns, at.correlation, kCalls + name, id});
  }
  /// Kinds of CUPTI: a copy 1 to the device, 2 from it; memory 1 pinned, 2 device.
  void copy(bool to_device, Span at) {
    const std::uint64_t to = to_device ? 2 : 1;
    insert(copy_, {at.start_ns, at.end_ns, at.correlation, 3 - to, 3 - to, to});
  }
  void finish() { run("COMMIT"); }

 private:
  void check(int code) const {
    if (code != SQLITE_OK && code != SQLITE_DONE)
      throw Error(ErrorKind::input, "write", sqlite3_errmsg(database_), path_);
  }
  void run(const std::string& sql) { check(sqlite3_exec(database_, sql.c_str(), nullptr, nullptr, nullptr)); }
  void string(std::size_t id, const char* text) {
    run(fmt::format("INSERT INTO StringIds VALUES ({}, '{}')", id, text));
  }
  sqlite3_stmt* prepare(const std::string& sql) {
    sqlite3_stmt* row = nullptr;
    check(sqlite3_prepare_v2(database_, sql.c_str(), -1, &row, nullptr));
    return row;
  }
  void insert(sqlite3_stmt* row, std::initializer_list<std::uint64_t> values) {
    int column = 0;
    for (const std::uint64_t value : values) sqlite3_bind_int64(row, ++column, static_cast<std::int64_t>(value));
    check(sqlite3_step(row));
    sqlite3_reset(row);
  }

  std::string path_;
  sqlite3* database_ = nullptr;
  sqlite3_stmt *range_ = nullptr, *call_ = nullptr, *kernel_ = nullptr, *copy_ = nullptr;
};

/// Field by field and line by line as the profiler writes.
class KinetoWriter {
 public:
  void range(std::uint64_t step, std::uint64_t start, std::uint64_t end) {
    event("user_annotation", fmt::format("decode_step_{}", step), kPid, kPid, start, end);
    fmt::format_to(to(), "\"args\": {{\n      \"External id\": {}, \"Ev Idx\": {}\n    }}\n  }}", step + 1, step);
  }
  void call(Call name, Span at) {
    event("cuda_runtime", kCallNames[name], kPid, kPid, at.start_ns, at.end_ns);
    fmt::format_to(to(), "\"args\": {{\n      \"External id\": {0}, \"cbid\": 211, \"correlation\": {0}\n    }}\n  }}",
                   at.correlation);
  }
  void kernel(std::uint32_t name, Span at, std::uint32_t node) {
    event("kernel", kKernelNames[name], 0, 7, at.start_ns, at.end_ns);
    fmt::format_to(to(),
                   "\"args\": {{\n      \"External id\": {0}, \"queued\": 0, \"device\": 0, \"context\": 1, "
                   "\"stream\": 7, \"correlation\": {0}, \"registers per thread\": 64, \"shared memory\": 49152, "
                   "\"blocks per SM\": 1, \"warps per SM\": 8, \"grid\": [132, 1, 1], \"block\": [256, 1, 1], "
                   "\"est. achieved occupancy %\": 12",
                   at.correlation);
    if (node > 0) fmt::format_to(to(), ", \"graph id\": 3, \"graph node id\": {}", std::uint64_t{3} << 32 | node);
    fmt::format_to(to(), "\n    }}\n  }}");
  }
  void copy(bool to_device, Span at) {
    event("gpu_memcpy", to_device ? "Memcpy HtoD (Pinned -> Device)" : "Memcpy DtoH (Device -> Pinned)", 0, 7,
          at.start_ns, at.end_ns);
    fmt::format_to(to(),
                   "\"args\": {{\n      \"External id\": {0}, \"device\": 0, \"context\": 1, \"stream\": 7, "
                   "\"correlation\": {0}, \"bytes\": 4096, \"memory bandwidth (GB/s)\": 4.1\n    }}\n  }}",
                   at.correlation);
  }
  [[nodiscard]] std::string take() { return std::exchange(text_, {}); }

 private:
  std::back_insert_iterator<std::string> to() { return std::back_inserter(text_); }
  void event(const char* category, std::string_view name, std::uint64_t pid, std::uint64_t tid, std::uint64_t start,
             std::uint64_t end) {
    const std::uint64_t took = end - start;
    fmt::format_to(to(),
                   "{}\n  {{\n    \"ph\": \"X\", \"cat\": \"{}\", \"name\": \"{}\", \"pid\": {}, \"tid\": {},\n    "
                   "\"ts\": {}.{:03}, \"dur\": {}.{:03},\n    ",
                   first_ ? "" : ",", category, name, pid, tid, start / 1000, start % 1000, took / 1000, took % 1000);
    first_ = false;
  }

  std::string text_;
  bool first_ = true;
};

}  // namespace

void write_nsys(const std::string& path, std::uint64_t steps) {
  NsysWriter writer(path);
  for (std::uint64_t step = 0; step < steps; ++step) write_step(writer, step);
  writer.finish();
}

std::uint64_t write_kineto(const std::string& path, std::uint64_t bytes) {
  std::ofstream file(path, std::ios::binary);
  std::string text =
      "{\n  \"schemaVersion\": 1,\n  \"deviceProperties\": [],\n  \"distributedInfo\": {\"rank\": 0, \"world_size\": "
      "1},\n  \"traceEvents\": [";
  KinetoWriter writer;
  std::uint64_t steps = 0, size = 0;
  while (size < bytes) {
    write_step(writer, steps++);
    text += writer.take();
    size += text.size();
    file << text;
    text.clear();
  }
  if (!(file << "\n  ]\n}\n" << std::flush)) throw Error(ErrorKind::input, "write", "the file can't be written", path);
  return steps;
}

TraceCounts counts_of_steps(std::uint64_t steps) {
  Counter counter;
  write_step(counter, 0);
  for (auto& [name, count] : counter.counts) count *= steps;
  return std::move(counter.counts);
}

}  // namespace refrain::bench
