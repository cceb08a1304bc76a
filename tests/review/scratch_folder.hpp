// A folder of the test's own that goes with it.
#pragma once

#include <cstdlib>

#include <filesystem>
#include <set>
#include <string>
#include <string_view>

namespace refrain::test {

class ScratchFolder {
 public:
  ScratchFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "refrain-review-XXXXXX").string();
    path_ = ::mkdtemp(name.data()) == nullptr ? "" : name;
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  ~ScratchFolder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }

  [[nodiscard]] std::string operator/(std::string_view name) const { return path_ + "/" + std::string(name); }
  [[nodiscard]] const std::string& path() const { return path_; }
  /// All that lies in it, relative.
  [[nodiscard]] std::set<std::string> files() const {
    std::set<std::string> found;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(path_))
      found.insert(std::filesystem::relative(entry.path(), path_).generic_string());
    return found;
  }

 private:
  std::string path_;
};

}  // namespace refrain::test
