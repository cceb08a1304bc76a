// Several files that appear in a folder together or not at all, the last of them
// being the seal: a reader takes none of them without it. Each is written under a
// temporary name, synced, and renamed; the seal goes last, and an old seal goes
// before anything that it vouched for. A kill leaves at most temporary files and
// unsealed ones, which the next StagedFolder sweeps or replaces.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace refrain {

/// Called before each file operation with its name and path. Tests throw from it, or die in it.
using FileHook = std::function<void(const char* operation, const std::string& path)>;

class StagedFolder {
 public:
  /// Makes the folder where it is missing (its parent must be there), keeps others out while it lives, and sweeps what
  /// killed writers left. `names` in the order in which they appear, the seal last. Throws Error{input}, and
  /// Error{refused} while another writer is in the folder.
  StagedFolder(std::string folder, std::vector<std::string> names, FileHook hook = {});
  /// Without a commit, removes every trace.
  ~StagedFolder();
  StagedFolder(const StagedFolder&) = delete;
  StagedFolder& operator=(const StagedFolder&) = delete;

  /// Writes and syncs the bytes under a temporary name; mode 0644 whatever the umask, so that others may read them.
  void stage(const std::string& name, std::string_view bytes);
  /// Gives all staged files their names; every one of `names` must have been staged.
  void commit();

 private:
  void step(const char* operation, const std::string& path) const;
  [[nodiscard]] std::string path_of(const std::string& name) const;
  [[nodiscard]] std::string temporary_of(const std::string& name) const;
  void make_folder();
  void lock();
  void sweep() const;
  void write(int fd, std::string_view bytes, const std::string& path) const;
  void sync_folder() const;
  void roll_back() noexcept;

  std::string folder_;
  std::vector<std::string> names_;
  FileHook hook_;
  std::vector<std::string> staged_;
  int fd_ = -1;
  bool made_folder_ = false, renaming_ = false, committed_ = false;
};

}  // namespace refrain
