// An Nsight Systems export made by a test, table by table as the documented schema
// has them; it shares nothing with the reader but SQLite.
#pragma once

#include <string>
#include <vector>

struct sqlite3;

namespace refrain::test {

class ExportFile {
 public:
  /// A database with META_DATA_EXPORT and an empty StringIds.
  explicit ExportFile(const std::string& name, const std::string& schema = "3.24.14");
  ~ExportFile();
  ExportFile(const ExportFile&) = delete;
  ExportFile& operator=(const ExportFile&) = delete;

  void run(const std::string& sql);
  /// The StringIds id of a text.
  [[nodiscard]] int string(const std::string& text);
  /// One row of CUPTI_ACTIVITY_KIND_RUNTIME, which is made with the first. Thread 1 of the process.
  void call(const std::string& name, int start, int end, int correlation, int pid = 100, int code = 0);
  /// Likewise of KERNEL, with a graphNodeId (0 = NULL).
  void kernel(const std::string& name, int start, int correlation, long long node = 0, int pid = 100, int stream = 7);
  void copy(int start, int correlation, int bytes, int copy_kind, int src_kind, int dst_kind, long long node = 0);
  void range(const std::string& text, int start, int end, int pid = 100);
  void capture_option(const std::string& name, const std::string& value);

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  void once(const std::string& table, const std::string& columns);

  std::string path_;
  sqlite3* handle_ = nullptr;
  std::vector<std::string> tables_;
  int strings_ = 0;
};

[[nodiscard]] inline long long global(int pid, int tid = 0) {
  return (static_cast<long long>(pid) << 24) + tid;
}

}  // namespace refrain::test
