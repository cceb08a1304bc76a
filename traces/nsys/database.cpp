#include "traces/nsys/database.hpp"

#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>

#include "graphs/error.hpp"

namespace refrain {
namespace {

constexpr int kMaxCellBytes = 16 << 20;

/// A path inside a URI: only what is safe there stands for itself.
std::string uri_of(const std::string& path) {
  std::string uri = "file:";
  for (const char c : path) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '/' ||
                       c == '.' || c == '-' || c == '_';
    uri += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return uri + "?immutable=1";
}

std::string in_quotes(std::string_view name) {
  return fmt::format("\"{}\"", name);
}

}  // namespace

Database::Database(const std::string& path) : path_(path) {
  check_length();
  check_no_writer();
  // Absolute: a relative path in a URI could be taken for an authority.
  const std::string uri = uri_of(std::filesystem::absolute(path).string());
  // No mutex: a Database is one thread's, and a lock for every cell would be a tenth of a large export's time.
  constexpr int kFlags = SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX;
  if (sqlite3_open_v2(uri.c_str(), &handle_, kFlags, nullptr) != SQLITE_OK) {
    const std::string why = handle_ != nullptr ? sqlite3_errmsg(handle_) : "out of memory";
    sqlite3_close(handle_);
    refuse("opening the database", why);
  }
  sqlite3_db_config(handle_, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_db_config(handle_, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_limit(handle_, SQLITE_LIMIT_LENGTH, kMaxCellBytes);
}

/// SQLite takes what lies behind the end of a cut file for pages of zeros, and notices it by luck alone.
void Database::check_length() const {
  std::array<unsigned char, 100> header{};
  std::ifstream file(path_, std::ios::binary);
  file.read(reinterpret_cast<char*>(header.data()), header.size());
  const auto size = static_cast<std::uint64_t>(file.gcount());
  if (size < header.size())
    refuse(fmt::format("byte {}", size),
           fmt::format("expected SQLite's header of {} bytes, found the end of the file; the file is damaged or cut: "
                       "export again",
                       header.size()));
  const auto big_endian = [&](std::size_t at, std::size_t bytes) {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < bytes; ++i) value = value << 8 | header[at + i];
    return value;
  };
  // Where the two counters differ, an old SQLite wrote the file and the count of pages says nothing.
  if (big_endian(24, 4) != big_endian(92, 4)) return;
  const std::uint64_t page = big_endian(16, 2) == 1 ? 65536 : big_endian(16, 2);
  std::error_code failed;
  const std::uint64_t found = std::filesystem::file_size(path_, failed);
  if (!failed && found < page * big_endian(28, 4))
    refuse(
        fmt::format("byte {}", found),
        fmt::format("expected {} bytes by the file's header, found its end; the file is damaged or cut: export again",
                    page * big_endian(28, 4)));
}

/// A journal beside the file holds what the file lacks, or must be undone in it: nobody reads it here.
void Database::check_no_writer() const {
  for (const char* ending : {"-journal", "-wal"}) {
    std::error_code failed;
    const std::uint64_t size = std::filesystem::file_size(path_ + ending, failed);
    if (!failed && size > 0)
      refuse("opening the database",
             fmt::format("expected a finished export, found one that is being written (a {} file stands beside it); "
                         "wait until nsys export has ended, or export again",
                         ending + 1));
  }
}

Database::~Database() {
  sqlite3_close(handle_);
}

void Database::refuse(const std::string& tried, const std::string& came_back) const {
  throw Error(ErrorKind::input, tried, came_back, path_);
}

// Not views: a view could compute for ever.
bool Database::has_table(std::string_view table) {
  Rows rows(
      *this,
      fmt::format("SELECT 1 FROM sqlite_master WHERE type='table' AND sql NOT LIKE 'CREATE VIRTUAL%' AND name='{}'",
                  table),
      "reading the list of tables");
  return rows.next();
}

bool Database::has_column(std::string_view table, std::string_view column) {
  Rows rows(*this, fmt::format("SELECT 1 FROM pragma_table_info('{}') WHERE name='{}'", table, column),
            fmt::format("reading the columns of {}", table));
  return rows.next();
}

std::uint64_t Database::last_row(const std::string& table) {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 40;  // so that a sum of several is one
  if (!has_table(table)) return 0;
  sqlite3_stmt* statement = nullptr;
  const std::string sql = fmt::format("SELECT max(rowid) FROM {}", in_quotes(table));
  std::uint64_t last = 0;
  if (sqlite3_prepare_v2(handle_, sql.c_str(), -1, &statement, nullptr) == SQLITE_OK &&
      sqlite3_step(statement) == SQLITE_ROW)
    last = static_cast<std::uint64_t>(std::max<std::int64_t>(0, sqlite3_column_int64(statement, 0)));
  sqlite3_finalize(statement);
  return std::min(last, kMost);
}

std::string Database::table_names() {
  Rows rows(*this, "SELECT name FROM sqlite_master WHERE type='table' ORDER BY name LIMIT 8",
            "reading the list of tables");
  std::string names;
  while (rows.next()) names += fmt::format("{}{}", names.empty() ? "" : ", ", rows.text(0).substr(0, 64));
  return names.empty() ? "none" : names;
}

std::string Database::column_text(const std::string& table, std::string_view wanted) {
  const bool optional = wanted.starts_with('?');
  std::string_view rest = optional ? wanted.substr(1) : wanted;
  while (!rest.empty()) {
    const std::string_view name = rest.substr(0, rest.find('|'));
    if (has_column(table, name)) return in_quotes(name);
    rest.remove_prefix(std::min(rest.size(), name.size() + 1));
  }
  if (!optional)
    refuse(fmt::format("table {}", table),
           fmt::format("expected a column {}, found none; export again with nsys export --type sqlite", wanted));
  return "NULL";
}

Rows Database::rows(const std::string& table, std::span<const std::string_view> columns, const std::string& where) {
  std::string list;
  for (const std::string_view column : columns)
    list += fmt::format("{}{}", list.empty() ? "" : ", ", column_text(table, column));
  return Rows(*this, fmt::format("SELECT {} FROM {} {}", list, in_quotes(table), where),
              fmt::format("reading table {}", table));
}

Rows::Rows(Database& database, const std::string& sql, std::string tried)
    : database_(database), tried_(std::move(tried)) {
  if (sqlite3_prepare_v2(database.handle_, sql.c_str(), -1, &statement_, nullptr) != SQLITE_OK)
    database.refuse(tried_, fmt::format("SQLite says \"{}\"; the file is damaged or cut: export again",
                                        sqlite3_errmsg(database.handle_)));
}

Rows::~Rows() {
  sqlite3_finalize(statement_);
}

bool Rows::next() {
  const int code = sqlite3_step(statement_);
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  database_.refuse(tried_, fmt::format("SQLite says \"{}\"; the file is damaged or cut: export again",
                                       sqlite3_errmsg(database_.handle_)));
}

void Rows::bind(std::int64_t value) {
  sqlite3_bind_int64(statement_, 1, value);
}

void Rows::reset() {
  sqlite3_reset(statement_);
}

std::optional<std::int64_t> Rows::integer(int column) const {
  if (sqlite3_column_type(statement_, column) != SQLITE_INTEGER) return std::nullopt;
  return sqlite3_column_int64(statement_, column);
}

bool Rows::is_null(int column) const {
  return sqlite3_column_type(statement_, column) == SQLITE_NULL;
}

std::string_view Rows::text(int column) const {
  if (sqlite3_column_type(statement_, column) != SQLITE_TEXT) return {};
  const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
  return {bytes, static_cast<std::size_t>(sqlite3_column_bytes(statement_, column))};
}

std::uint64_t Rows::number(int column, std::uint64_t limit, std::uint64_t otherwise) const {
  const std::optional<std::int64_t> value = integer(column);
  if (!value || *value < 0 || static_cast<std::uint64_t>(*value) > limit) return otherwise;
  return static_cast<std::uint64_t>(*value);
}

}  // namespace refrain
