#include "traces/output_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>
#include <zlib.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <utility>

#include "graphs/error.hpp"

namespace refrain {
namespace {

/// gzwrite counts in int.
constexpr std::size_t kMostAtOnce = std::size_t{1} << 20;
constexpr mode_t kMode = 0666;  // the user's mask takes from it

std::string folder_of(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

}  // namespace

OutputFile::OutputFile(std::string path)
    : path_(std::move(path)), temporary_(fmt::format("{}.{}.part", path_, ::getpid())) {
  // `T`: as it is, through the same calls.
  const char* mode = path_.ends_with(".gz") ? "wb6" : "wbT";
  std::error_code unknown;
  const std::filesystem::file_status there = std::filesystem::status(path_, unknown);
  direct_ = std::filesystem::is_character_file(there) || std::filesystem::is_fifo(there);
  if (direct_) descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CLOEXEC);
#ifdef O_TMPFILE
  if (!direct_) descriptor_ = ::open(folder_of(path_).c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, kMode);
#endif
  if (descriptor_ < 0 && !direct_) {
    descriptor_ = ::open(temporary_.c_str(), O_CREAT | O_TRUNC | O_RDWR | O_CLOEXEC, kMode);
    named_ = descriptor_ >= 0;
  }
  if (descriptor_ < 0)
    throw Error(ErrorKind::input, "writing", fmt::format("{}; check the folder", std::strerror(errno)), path_);
  // The stream closes what it is given, and the name is still to come.
  const int copy = ::fcntl(descriptor_, F_DUPFD_CLOEXEC, 0);
  if (copy >= 0) stream_ = gzdopen(copy, mode);
  if (stream_ != nullptr) return;
  const int system = errno;
  if (copy >= 0) ::close(copy);
  fail(system);
}

OutputFile::~OutputFile() {
  close();
}

void OutputFile::close() noexcept {
  if (stream_ != nullptr) gzclose(std::exchange(stream_, nullptr));
  if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
  if (std::exchange(named_, false)) ::unlink(temporary_.c_str());
}

void OutputFile::fail(int system) {
  close();
  throw Error(ErrorKind::input, "writing",
              fmt::format("{}; nothing was written", system != 0 ? std::strerror(system) : "the disk did not take it"),
              path_);
}

void OutputFile::write(std::string_view text) {
  while (!text.empty()) {
    const std::string_view piece = text.substr(0, kMostAtOnce);
    errno = 0;
    if (stream_ == nullptr || gzwrite(stream_, piece.data(), static_cast<unsigned>(piece.size())) == 0) fail(errno);
    text.remove_prefix(piece.size());
  }
}

void OutputFile::keep() {
  errno = 0;
  // The last of it is written here, and a full disk may refuse it.
  if (stream_ == nullptr || gzclose(std::exchange(stream_, nullptr)) != Z_OK) fail(errno);
  if (direct_) return close();
  if (!named_) {
    const std::string unnamed = fmt::format("/proc/self/fd/{}", descriptor_);
    ::unlink(temporary_.c_str());
    if (::linkat(AT_FDCWD, unnamed.c_str(), AT_FDCWD, temporary_.c_str(), AT_SYMLINK_FOLLOW) != 0) fail(errno);
    named_ = true;
  }
  if (std::rename(temporary_.c_str(), path_.c_str()) != 0) fail(errno);
  named_ = false;
  close();
}

}  // namespace refrain
