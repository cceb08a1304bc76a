#include "tests/traces/export_file.hpp"

#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <filesystem>

#include "tests/catch.hpp"
#include "tests/traces/support.hpp"

namespace refrain::test {

ExportFile::ExportFile(const std::string& name, const std::string& schema) : path_(path_of(name)) {
  std::filesystem::remove(path_);
  REQUIRE(sqlite3_open(path_.c_str(), &handle_) == SQLITE_OK);
  run("PRAGMA synchronous = OFF");
  run("CREATE TABLE META_DATA_EXPORT (name TEXT, value TEXT)");
  run("CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL)");
  run(fmt::format("INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_SCHEMA_VERSION', '{}')", schema));
}

ExportFile::~ExportFile() {
  sqlite3_close(handle_);
}

void ExportFile::run(const std::string& sql) {
  INFO(sql);
  REQUIRE(sqlite3_exec(handle_, sql.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK);
}

int ExportFile::string(const std::string& text) {
  run(fmt::format("INSERT INTO StringIds VALUES ({}, '{}')", ++strings_, text));
  return strings_;
}

void ExportFile::once(const std::string& table, const std::string& columns) {
  if (std::find(tables_.begin(), tables_.end(), table) != tables_.end()) return;
  tables_.push_back(table);
  run(fmt::format("CREATE TABLE {} ({})", table, columns));
}

void ExportFile::call(const std::string& name, int start, int end, int correlation, int pid, int code) {
  once("CUPTI_ACTIVITY_KIND_RUNTIME",
       "start INTEGER NOT NULL, end INTEGER NOT NULL, eventClass INTEGER NOT NULL, globalTid INTEGER, correlationId "
       "INTEGER, nameId INTEGER NOT NULL, returnValue INTEGER NOT NULL, callchainId INTEGER, newest INTEGER");
  run(fmt::format("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES ({}, {}, 0, {}, {}, {}, {}, NULL, 9)", start, end,
                  global(pid, 1), correlation, string(name), code));
}

void ExportFile::kernel(const std::string& name, int start, int correlation, long long node, int pid, int stream) {
  once("CUPTI_ACTIVITY_KIND_KERNEL",
       "start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL, streamId INTEGER NOT NULL, "
       "correlationId INTEGER, globalPid INTEGER, demangledName INTEGER NOT NULL, shortName INTEGER NOT NULL, "
       "graphNodeId INTEGER");
  const int id = string(name);
  run(fmt::format("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES ({}, {}, 0, {}, {}, {}, {}, {}, {})", start, start + 5,
                  stream, correlation, global(pid), id, id, node == 0 ? "NULL" : std::to_string(node)));
}

void ExportFile::copy(int start, int correlation, int bytes, int copy_kind, int src_kind, int dst_kind,
                      long long node) {
  once("CUPTI_ACTIVITY_KIND_MEMCPY",
       "start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL, streamId INTEGER NOT NULL, "
       "correlationId INTEGER, globalPid INTEGER, bytes INTEGER NOT NULL, copyKind INTEGER NOT NULL, srcKind INTEGER, "
       "dstKind INTEGER, graphNodeId INTEGER");
  run(fmt::format("INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES ({}, {}, 0, 7, {}, {}, {}, {}, {}, {}, {})", start,
                  start + 5, correlation, global(100), bytes, copy_kind, src_kind, dst_kind,
                  node == 0 ? "NULL" : std::to_string(node)));
}

void ExportFile::range(const std::string& text, int start, int end, int pid) {
  once("NVTX_EVENTS",
       "start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL, text TEXT, globalTid INTEGER, textId INTEGER");
  run(fmt::format("INSERT INTO NVTX_EVENTS VALUES ({}, {}, 59, '{}', {}, NULL)", start, end, text, global(pid, 1)));
}

void ExportFile::capture_option(const std::string& name, const std::string& value) {
  once("META_DATA_CAPTURE", "name TEXT, value TEXT");
  run(fmt::format("INSERT INTO META_DATA_CAPTURE VALUES ('{}', '{}')", name, value));
}

}  // namespace refrain::test
