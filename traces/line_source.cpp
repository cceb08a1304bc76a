#include "traces/line_source.hpp"

#include <utility>

namespace refrain {

LineSource::LineSource(const std::string& path, ReadProgress progress)
    : bytes_(path, std::move(progress)), chunk_(std::size_t{64} << 10) {}

bool LineSource::refill() {
  at_ = 0;
  filled_ = bytes_.read(chunk_);
  return filled_ != 0;
}

LineSource::Next LineSource::next(std::string_view& line, std::size_t limit) {
  offset_ = next_offset_;
  line_.clear();
  std::uint64_t length = 0;
  for (;;) {
    if (at_ == filled_ && !refill()) break;
    const std::string_view chunk(chunk_.data() + at_, filled_ - at_);
    const std::size_t end = chunk.find('\n');
    const std::string_view piece = chunk.substr(0, end);
    length += piece.size();
    at_ += piece.size();
    if (end == std::string_view::npos) {
      if (length <= limit) line_ += piece;
      continue;
    }
    ++at_;
    next_offset_ = offset_ + length + 1;
    if (length > limit) return Next::too_long;
    line = line_.empty() ? piece : std::string_view(line_ += piece);
    return Next::line;
  }
  rest_ = length;
  offset_ += length;
  next_offset_ = offset_;
  return Next::end;
}

}  // namespace refrain
