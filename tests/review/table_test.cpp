// The tables as a reader of RFC 4180 takes them, and where they stand. duckdb_test.py reads them with DuckDB.
#include "audit/review/table.hpp"

#include <filesystem>
#include <fstream>
#include <sstream>

#include "graphs/error.hpp"
#include "tests/catch.hpp"
#include "tests/review/review_world.hpp"
#include "tests/review/scratch_folder.hpp"

using namespace refrain;
using namespace refrain::test;

namespace {

using Rows = std::vector<std::vector<std::string>>;

/// RFC 4180 by its grammar: CRLF ends a record, a quoted field holds anything with its quotes doubled.
Rows parse_csv(const std::string& text) {
  Rows rows;
  std::vector<std::string> row;
  std::size_t at = 0;
  while (at < text.size()) {
    std::string field;
    if (text[at] == '"') {
      for (++at; text.at(at) != '"' || (at + 1 < text.size() && text[at + 1] == '"'); ++at) {
        field.push_back(text[at]);
        if (text[at] == '"') ++at;
      }
      ++at;
    } else {
      while (text.at(at) != ',' && text[at] != '\r') field.push_back(text[at++]);
      REQUIRE(field.find_first_of("\"\n") == std::string::npos);
    }
    row.push_back(std::move(field));
    if (text.at(at) == ',') {
      ++at;
      continue;
    }
    REQUIRE(text.substr(at, 2) == "\r\n");
    at += 2;
    rows.push_back(std::move(row));
    row.clear();
  }
  REQUIRE(row.empty());
  return rows;
}

Rows rows_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  REQUIRE(file);
  std::ostringstream text;
  text << file.rdbuf();
  return parse_csv(text.str());
}

std::string part(const ScratchFolder& folder, std::string_view table, std::string_view input) {
  return folder / (std::string(table) + "/trace=" + partition_name(input) + "/part-0.csv");
}

std::string cell(const Rows& rows, std::size_t row, std::string_view column) {
  for (std::size_t i = 0; i < rows.at(0).size(); ++i)
    if (rows[0][i] == column) return rows.at(row).at(i);
  FAIL("no column " << column);
  return {};
}

}  // namespace

TEST_CASE("tables: a row a step with what it cost and empty fields for what is not known") {
  const ScratchFolder folder;
  write_tables(make_review(), folder.path());
  const Rows rows = rows_of(part(folder, "steps", "run.sqlite"));
  REQUIRE(rows.size() == 1 + 6);
  for (const auto& row : rows) CHECK(row.size() == rows[0].size());
  CHECK(cell(rows, 3, "step") == "3");
  CHECK(cell(rows, 3, "name") == "decode_step_3");
  CHECK(cell(rows, 3, "host_ns") == "900000");
  CHECK(cell(rows, 1, "host_ns") == "400000");
  CHECK(cell(rows, 1, "start_ns") == "1000000");
  CHECK(cell(rows, 1, "replayed_nodes") == "5");
  CHECK(cell(rows, 1, "gpu_busy_ns") == "63000");
  CHECK(cell(rows, 1, "h2d_pageable_bytes") == "4096");
  CHECK(cell(rows, 1, "d2d_copies") == "0");
  CHECK(cell(rows, 1, "captured_nodes").empty());
  CHECK(cell(rows, 1, "between_replays_ns").empty());
  CHECK(cell(rows, 1, "input") == "run.sqlite");
}

TEST_CASE("tables: a row a finding with its step and its time") {
  const ScratchFolder folder;
  const Review review = make_review();
  write_tables(review, folder.path());
  const Rows rows = rows_of(part(folder, "findings", "run.sqlite"));
  REQUIRE(rows.size() == 1 + 3);
  CHECK(cell(rows, 1, "rule") == "RF103");
  CHECK(cell(rows, 1, "step") == "3");
  CHECK(cell(rows, 1, "at_ns") == "3020000");
  CHECK(cell(rows, 1, "message") == "a copy from pageable memory, \"4,096 bytes\"; it waits");
  CHECK(cell(rows, 1, "fingerprint") == review.report.findings()[0].fingerprint);
  CHECK(cell(rows, 3, "rule") == "RF801");
  CHECK(cell(rows, 3, "step").empty());
  CHECK(cell(rows, 3, "at_ns").empty());
}

TEST_CASE("tables: commas and quotes stand in quoted fields and other bytes as text in one line") {
  const ScratchFolder folder;
  write_tables(make_review({.steps = 1, .name = "a,\"b\"\r\nc\xFF"}), folder.path());
  const Rows rows = rows_of(part(folder, "steps", "run.sqlite"));
  REQUIRE(rows.size() == 2);
  CHECK(cell(rows, 1, "name") == "a,\"b\"\\r\\nc\xEF\xBF\xBD_step_1");
}

TEST_CASE("tables: partitions have safe names that tell paths of one stem apart") {
  const std::string a = partition_name("/traces/a/run.sqlite"), b = partition_name("/traces/b/run.sqlite");
  CHECK(a != b);
  CHECK(a.starts_with("run-"));
  CHECK(a.size() == std::string("run-").size() + 8);
  CHECK(partition_name("/traces/./a/../a/run.sqlite") == a);
  CHECK(partition_name((std::filesystem::current_path() / "run.sqlite").string()) == partition_name("run.sqlite"));
  for (const char* path : {"/t/a b=c%2F\"\n.sqlite", "refrain audit -- python serve.py", "", "/", "/t/\xFF"}) {
    const std::string name = partition_name(path);
    INFO(name);
    CHECK(name.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._") ==
          std::string::npos);
    CHECK(name.size() > 9);
  }
  CHECK(partition_name("/t/" + std::string(4000, 'x')).size() < 100);
}

TEST_CASE("tables: a trace written again replaces its own partition and no other") {
  const ScratchFolder folder;
  write_tables(make_review({.input = "a.sqlite"}), folder.path());
  write_tables(make_review({.input = "b.sqlite"}), folder.path());
  CHECK(folder.files().size() == 3 + 6 + 6);  // tables, partitions, files
  write_tables(make_review({.steps = 2, .input = "a.sqlite"}), folder.path());
  CHECK(folder.files().size() == 3 + 6 + 6);
  CHECK(rows_of(part(folder, "steps", "a.sqlite")).size() == 1 + 2);
  CHECK(rows_of(part(folder, "traces", "a.sqlite")).size() == 1 + 1);
  CHECK(rows_of(part(folder, "steps", "b.sqlite")).size() == 1 + 6);
  CHECK(rows_of(part(folder, "findings", "b.sqlite")).size() == 1 + 3);
}

TEST_CASE("tables: a trace that has become clean has no finding left and is still a reviewed trace") {
  const ScratchFolder folder;
  write_tables(make_review(), folder.path());
  const Rows broken = rows_of(part(folder, "traces", "run.sqlite"));
  CHECK(cell(broken, 1, "errors") == "3");  // RF102, RF103 and RF801
  CHECK(cell(broken, 1, "not_checked_rules") == "1");
  CHECK(cell(broken, 1, "worst_step") == "3");
  write_tables(make_review({.findings = false}), folder.path());
  CHECK_FALSE(std::filesystem::exists(std::filesystem::path(part(folder, "findings", "run.sqlite")).parent_path()));
  const Rows clean = rows_of(part(folder, "traces", "run.sqlite"));
  CHECK(cell(clean, 1, "errors") == "0");
  CHECK(cell(clean, 1, "steps") == "6");
}

TEST_CASE("tables: columns are the same for every trace") {
  const ScratchFolder folder;
  write_tables(make_review({.input = "a"}), folder.path());
  write_tables(make_review({.steps = 1, .input = "b", .device = false}), folder.path());
  for (const char* table : {"traces", "steps", "findings"})
    CHECK(rows_of(part(folder, table, "a"))[0] == rows_of(part(folder, table, "b"))[0]);
}

TEST_CASE("tables: where one cannot be written none is") {
  const ScratchFolder folder;
  std::ofstream(folder / "findings") << "a file in the way";
  try {
    write_tables(make_review(), folder.path());
    FAIL("no error");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::input);
    CHECK(error.where().find("findings") != std::string::npos);
  }
  CHECK_FALSE(std::filesystem::exists(part(folder, "steps", "run.sqlite")));
  CHECK_FALSE(std::filesystem::exists(part(folder, "traces", "run.sqlite")));
}
