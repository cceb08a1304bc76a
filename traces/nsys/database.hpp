// A SQLite file, read only: immutable (no lock is taken, no journal is read,
// nothing is written beside it) and not trusted. It knows tables and columns by
// name and no format; every fault of the file is an Error that names it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

struct sqlite3;
struct sqlite3_stmt;

namespace refrain {

class Rows;

class Database {
 public:
  /// Throws Error{input} when the file cannot be opened.
  explicit Database(const std::string& path);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  [[nodiscard]] bool has_table(std::string_view table);
  [[nodiscard]] bool has_column(std::string_view table, std::string_view column);
  /// The number of the table's last row, found without reading the others: as many as it has, where none was deleted. 0
  /// where there is no such table or its rows have no numbers.
  [[nodiscard]] std::uint64_t last_row(const std::string& table);
  /// Up to 8 names with commas in between, for a message.
  [[nodiscard]] std::string table_names();
  /// All rows in the order of the file. A column written `?name` is NULL where the table lacks it; one that is not and
  /// lacks is an Error. A name may stand as `a|b`: the first that is there.
  [[nodiscard]] Rows rows(const std::string& table, std::span<const std::string_view> columns,
                          const std::string& where = "");

  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  [[noreturn]] void refuse(const std::string& tried, const std::string& came_back) const;

 private:
  friend class Rows;
  void check_length() const;
  void check_no_writer() const;
  [[nodiscard]] std::string column_text(const std::string& table, std::string_view wanted);

  std::string path_;
  sqlite3* handle_ = nullptr;
};

class Rows {
 public:
  Rows(Database& database, const std::string& sql, std::string tried);
  ~Rows();
  Rows(const Rows&) = delete;
  Rows& operator=(const Rows&) = delete;

  /// Throws Error{input} where the file is damaged.
  [[nodiscard]] bool next();
  void bind(std::int64_t value);
  void reset();

  /// Nothing when the cell is NULL or of another type.
  [[nodiscard]] std::optional<std::int64_t> integer(int column) const;
  [[nodiscard]] bool is_null(int column) const;
  /// Valid until the next row; empty when the cell is no text.
  [[nodiscard]] std::string_view text(int column) const;
  /// An integer from 0 to `limit`; anything else, NULL too, is `otherwise`.
  [[nodiscard]] std::uint64_t number(int column, std::uint64_t limit, std::uint64_t otherwise = 0) const;

 private:
  Database& database_;
  sqlite3_stmt* statement_ = nullptr;
  std::string tried_;
};

}  // namespace refrain
