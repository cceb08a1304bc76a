#include "runtime/scales/staged_folder.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "graphs/error.hpp"

namespace refrain {
namespace {

namespace fs = std::filesystem;

constexpr mode_t kFolderMode = 0755, kFileMode = 0644;
constexpr std::string_view kPart = ".part";

[[noreturn]] void fail(const std::string& path, const char* tried) {
  throw Error(ErrorKind::input, tried, fmt::format("{}; nothing was written", std::strerror(errno)), path);
}

void check(int code, const std::string& path, const char* tried) {
  if (code != 0) fail(path, tried);
}

/// `NAME.123.part` of one of the names.
bool is_leftover(std::string_view file, const std::vector<std::string>& names) {
  return std::any_of(names.begin(), names.end(), [&](const std::string& name) {
    if (!file.starts_with(name + ".") || !file.ends_with(kPart)) return false;
    if (file.size() <= name.size() + 1 + kPart.size()) return false;
    const auto digits = file.substr(name.size() + 1, file.size() - name.size() - 1 - kPart.size());
    return std::all_of(digits.begin(), digits.end(), [](char c) { return c >= '0' && c <= '9'; });
  });
}

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  [[nodiscard]] int get() const noexcept { return fd_; }
  [[nodiscard]] int close() noexcept { return ::close(std::exchange(fd_, -1)); }

 private:
  int fd_;
};

}  // namespace

StagedFolder::StagedFolder(std::string folder, std::vector<std::string> names, FileHook hook)
    : folder_(std::move(folder)), names_(std::move(names)), hook_(std::move(hook)) {
  try {
    make_folder();
    lock();
    sweep();
  } catch (...) {
    roll_back();
    throw;
  }
}

StagedFolder::~StagedFolder() {
  roll_back();
}

void StagedFolder::step(const char* operation, const std::string& path) const {
  if (hook_) hook_(operation, path);
}

std::string StagedFolder::path_of(const std::string& name) const {
  return (fs::path(folder_) / name).string();
}

std::string StagedFolder::temporary_of(const std::string& name) const {
  return fmt::format("{}.{}{}", path_of(name), ::getpid(), kPart);
}

void StagedFolder::make_folder() {
  step("make folder", folder_);
  made_folder_ = ::mkdir(folder_.c_str(), kFolderMode) == 0;
  if (!made_folder_ && errno != EEXIST) fail(folder_, "making the folder");
  // mkdir obeys the umask; who serves the model is often another user than who calibrated it.
  if (!made_folder_) return;
  step("set folder mode", folder_);
  check(::chmod(folder_.c_str(), kFolderMode), folder_, "setting the mode");
}

void StagedFolder::lock() {
  step("open folder", folder_);
  fd_ = ::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd_ < 0) fail(folder_, "opening the folder");
  step("lock", folder_);
  // Some network file systems know no locks: there, the user has to see to it.
  if (::flock(fd_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
    throw Error(ErrorKind::refused, "writing", "another run writes into this folder; wait for it to end", folder_);
}

void StagedFolder::sweep() const {
  step("sweep", folder_);
  std::error_code problem;
  for (fs::directory_iterator entry(folder_, problem), end; !problem && entry != end; entry.increment(problem))
    if (is_leftover(entry->path().filename().string(), names_)) {
      std::error_code ignored;
      fs::remove(entry->path(), ignored);
    }
}

void StagedFolder::write(int fd, std::string_view bytes, const std::string& path) const {
  while (!bytes.empty()) {
    const ssize_t put = ::write(fd, bytes.data(), bytes.size());
    if (put < 0 && errno != EINTR) fail(path, "writing");
    if (put > 0) bytes.remove_prefix(static_cast<std::size_t>(put));
  }
}

void StagedFolder::stage(const std::string& name, std::string_view bytes) {
  assert(std::find(names_.begin(), names_.end(), name) != names_.end());
  const std::string path = temporary_of(name);
  step("create", path);
  Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (file.get() < 0) fail(path, "creating");
  staged_.push_back(name);
  step("write", path);
  write(file.get(), bytes, path);
  step("set mode", path);
  check(::fchmod(file.get(), kFileMode), path, "setting the mode");
  step("sync", path);
  check(::fsync(file.get()), path, "syncing");
  step("close", path);
  check(file.close(), path, "closing");
}

void StagedFolder::commit() {
  assert(staged_.size() == names_.size());
  const std::string seal = path_of(names_.back());
  step("remove", seal);
  if (::unlink(seal.c_str()) != 0 && errno != ENOENT) fail(seal, "removing");
  sync_folder();
  for (const std::string& name : names_) {
    if (name == names_.back()) sync_folder();
    step("rename", path_of(name));
    renaming_ = true;
    check(::rename(temporary_of(name).c_str(), path_of(name).c_str()), path_of(name), "renaming");
  }
  sync_folder();
  committed_ = true;
}

void StagedFolder::sync_folder() const {
  step("sync folder", folder_);
  check(::fsync(fd_), folder_, "syncing");
}

void StagedFolder::roll_back() noexcept {
  if (!committed_) {
    for (const std::string& name : staged_) ::unlink(temporary_of(name).c_str());
    // Once renaming has begun the older files are not whole either; the seal goes first.
    if (renaming_)
      for (auto name = names_.rbegin(); name != names_.rend(); ++name) ::unlink(path_of(*name).c_str());
    if (made_folder_) ::rmdir(folder_.c_str());
  }
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
}

}  // namespace refrain
