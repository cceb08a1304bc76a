#include "traces/byte_source.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <new>
#include <utility>

#include "graphs/error.hpp"

namespace refrain {

struct ByteSource::Unpacker {
  z_stream stream{};
  bool between_members = false;

  Unpacker() {
    // 15: the largest window; + 16: gzip framing, with its checksum.
    if (inflateInit2(&stream, 15 + 16) != Z_OK) throw std::bad_alloc();
  }
  ~Unpacker() { inflateEnd(&stream); }
  Unpacker(const Unpacker&) = delete;
  Unpacker& operator=(const Unpacker&) = delete;
};

ByteSource::ByteSource(const std::string& path, ReadProgress progress)
    : path_(path), packed_(std::size_t{32} << 10), progress_(std::move(progress)) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored))
    throw Error(ErrorKind::input, "reading", "is a directory; name a file", path);
  file_.open(path, std::ios::binary);
  if (!file_) throw Error(ErrorKind::input, "reading", fmt::format("{}; check the path", std::strerror(errno)), path);
  if (progress_ && std::filesystem::is_regular_file(path, ignored)) size_ = std::filesystem::file_size(path, ignored);
  if (ignored || size_ == 0) progress_ = {};
  refill();
  if (is_gzip({packed_.data(), filled_})) unpacker_ = std::make_unique<Unpacker>();
}

ByteSource::~ByteSource() = default;

void ByteSource::refill() {
  file_.read(packed_.data(), static_cast<std::streamsize>(packed_.size()));
  if (file_.bad()) throw Error(ErrorKind::input, "reading", "an input error in the middle of the file", path_);
  at_ = 0;
  filled_ = static_cast<std::size_t>(file_.gcount());
  if (!progress_ || filled_ == 0) return;
  taken_ += filled_;
  progress_(taken_, size_);
}

std::size_t ByteSource::read(std::span<char> out) {
  if (unpacker_ != nullptr) return unpack(out);
  if (at_ == filled_) refill();
  const std::size_t size = std::min(out.size(), filled_ - at_);
  std::copy_n(packed_.begin() + static_cast<std::ptrdiff_t>(at_), size, out.begin());
  at_ += size;
  return size;
}

/// Zeros may pad a finished member; anything else must be another member. False at the end of the file.
bool ByteSource::next_member() {
  for (;; ++at_) {
    if (at_ == filled_) refill();
    if (filled_ == 0) return false;
    if (packed_[at_] != 0) break;
  }
  unpacker_->between_members = false;
  inflateReset(&unpacker_->stream);
  return true;
}

std::size_t ByteSource::unpack(std::span<char> out) {
  z_stream& stream = unpacker_->stream;
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  while (stream.avail_out == out.size() && !cut_ && !corrupt_) {
    if (unpacker_->between_members && !next_member()) break;
    if (at_ == filled_) refill();
    cut_ = filled_ == 0;
    stream.next_in = reinterpret_cast<Bytef*>(packed_.data() + at_);
    stream.avail_in = static_cast<uInt>(filled_ - at_);
    const int code = inflate(&stream, Z_NO_FLUSH);
    at_ = filled_ - stream.avail_in;
    unpacker_->between_members = code == Z_STREAM_END;
    corrupt_ = code != Z_OK && code != Z_STREAM_END && code != Z_BUF_ERROR;
  }
  return out.size() - stream.avail_out;
}

bool is_gzip(std::string_view head) noexcept {
  return head.starts_with("\x1f\x8b");
}

}  // namespace refrain
