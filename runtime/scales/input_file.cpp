#include "runtime/scales/input_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "graphs/error.hpp"
#include "runtime/scales/sha256.hpp"

namespace refrain {
namespace {

constexpr std::size_t kChunkBytes = std::size_t{4} << 20;

[[noreturn]] void fail(const std::string& path, const std::string& came_back) {
  throw Error(ErrorKind::input, "reading", came_back, path);
}

/// One pread that is not cut short by a signal; 0 is the end of the file.
std::size_t read_some(int fd, const std::string& path, std::uint64_t offset, std::span<char> out) {
  for (;;) {
    const ssize_t got = ::pread(fd, out.data(), out.size(), static_cast<off_t>(offset));
    if (got >= 0) return static_cast<std::size_t>(got);
    if (errno != EINTR) fail(path, fmt::format("{} at byte {}", std::strerror(errno), offset));
  }
}

}  // namespace

// O_NONBLOCK: a pipe by that name must not hold the program up before it is refused.
InputFile::InputFile(std::string path)
    : path_(std::move(path)), fd_(::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
  if (fd_ < 0) fail(path_, fmt::format("{}; check the path", std::strerror(errno)));
  struct stat status {};
  const bool known = ::fstat(fd_, &status) == 0;
  if (!known || !S_ISREG(status.st_mode)) {
    const std::string reason = known ? "is not a regular file; name a file" : std::strerror(errno);
    ::close(std::exchange(fd_, -1));
    fail(path_, reason);
  }
  bytes_ = static_cast<std::uint64_t>(status.st_size);
}

InputFile::~InputFile() {
  if (fd_ >= 0) ::close(fd_);
}

InputFile::InputFile(InputFile&& other) noexcept
    : path_(std::move(other.path_)), fd_(std::exchange(other.fd_, -1)), bytes_(other.bytes_) {}

void InputFile::read_at(std::uint64_t offset, std::span<char> out) const {
  while (!out.empty()) {
    const std::size_t got = read_some(fd_, path_, offset, out);
    if (got == 0) fail(path_, fmt::format("the file ends at byte {}; it is cut short, fetch it again", offset));
    offset += got;
    out = out.subspan(got);
  }
}

std::string InputFile::read_all(std::uint64_t limit) const {
  if (bytes_ > limit) fail(path_, fmt::format("expected at most {} bytes, found {}; check the path", limit, bytes_));
  std::string text(static_cast<std::size_t>(bytes_), '\0');
  read_at(0, text);
  return text;
}

std::string InputFile::sha256(const HashProgress& progress) const {
  Sha256 hash;
  std::vector<char> chunk(static_cast<std::size_t>(std::clamp<std::uint64_t>(bytes_, 1, kChunkBytes)));
  std::uint64_t done = 0;
  while (const std::size_t got = read_some(fd_, path_, done, chunk)) {
    hash.update({chunk.data(), got});
    done += got;
    if (progress) progress(path_, done, bytes_);
  }
  if (done != bytes_)
    fail(path_, fmt::format("expected {} bytes, found {}; it changed while it was read", bytes_, done));
  return hash.hex();
}

}  // namespace refrain
