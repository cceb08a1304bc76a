#include "traces/kineto/json_scanner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "graphs/error.hpp"

namespace refrain {
namespace {

constexpr std::size_t kChunk = std::size_t{64} << 10;
constexpr std::size_t kMaxToken = std::size_t{16} << 20;
constexpr std::size_t kMaxKept = std::size_t{16} << 10;
constexpr unsigned kMaxDepth = 64;

bool is_blank(char c) {
  return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

/// By a table: every digit of a trace is asked.
constexpr std::array<bool, 256> kScalar = [] {
  std::array<bool, 256> scalar{};
  for (const char c : std::string_view("0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-+"))
    scalar[static_cast<unsigned char>(c)] = true;
  return scalar;
}();

bool is_scalar(char c) {
  return kScalar[static_cast<unsigned char>(c)];
}

bool begins_number(char c) {
  return (c >= '0' && c <= '9') || c == '-';
}

}  // namespace

JsonScanner::JsonScanner(const std::string& path, ReadProgress progress)
    : path_(path), bytes_(path, std::move(progress)), chunk_(kChunk) {
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  if (refill() && std::string_view(at_, static_cast<std::size_t>(end_ - at_)).starts_with(kByteOrderMark))
    at_ += kByteOrderMark.size();
}

void JsonScanner::refuse(const char* found) {
  const std::uint64_t place = chunk_begin_ + static_cast<std::uint64_t>(at_ - chunk_.data());
  throw Error(ErrorKind::input, fmt::format("byte {}{}", place, bytes_.gzip() ? " of the unpacked text" : ""),
              fmt::format("expected the JSON of a PyTorch profiler trace to go on, found {}; export the trace again",
                          bytes_.corrupt() ? "damaged gzip data" : found),
              path_);
}

void JsonScanner::refuse_end() {
  refuse(bytes_.cut() ? "the end of a gzip file that was cut" : "the end of the file");
}

bool JsonScanner::refill() {
  if (at_ != nullptr) chunk_begin_ += static_cast<std::uint64_t>(end_ - chunk_.data());
  at_ = end_ = chunk_.data();
  end_ += bytes_.read(chunk_);
  return at_ != end_;
}

void JsonScanner::count(std::size_t bytes) {
  token_bytes_ += bytes;
  if (token_bytes_ > kMaxToken) refuse("over 16 MiB without an end");
}

char JsonScanner::peek_past_blanks() {
  token_bytes_ = 0;
  if (at_ != end_ && static_cast<unsigned char>(*at_) > ' ') return *at_;
  for (;;) {
    const char* from = at_;
    while (at_ != end_ && is_blank(*at_)) ++at_;
    if (at_ != end_) return *at_;
    count(static_cast<std::size_t>(at_ - from));
    if (!refill()) return 0;
  }
}

Token JsonScanner::next() {
  for (;;) {
    const char c = peek_past_blanks();
    if (c == 0 && at_ == end_) {
      if (place_ != Place::nothing || bytes_.corrupt() || bytes_.cut()) refuse_end();
      return Token::end;
    }
    switch (place_) {
      case Place::nothing: refuse("more text behind its end");
      case Place::colon:
        if (c != ':') refuse("a name without a colon");
        ++at_;
        place_ = Place::value;
        continue;
      case Place::comma_or_end:
        if (c == '}' || c == ']') return close(c);
        if (c != ',') refuse("what is no JSON");
        ++at_;
        place_ = in_object() ? Place::key : Place::value;
        continue;
      case Place::first_key:
        if (c == '}') return close(c);
        [[fallthrough]];
      case Place::key:
        if (c != '"') refuse("no name where a field begins");
        read_string();
        place_ = Place::colon;
        return Token::key;
      case Place::first_value:
        if (c == ']') return close(c);
        [[fallthrough]];
      case Place::value: return value(c);
    }
  }
}

Token JsonScanner::value(char first) {
  if (first == '{' || first == '[') return open(first == '{');
  place_ = depth_ == 0 ? Place::nothing : Place::comma_or_end;
  if (first == '"') {
    read_string();
    return Token::string;
  }
  if (!is_scalar(first)) refuse("what is no JSON");
  read_scalar();
  return begins_number(first) ? Token::number : Token::word;
}

Token JsonScanner::open(bool object) {
  if (depth_ == kMaxDepth) refuse("brackets that nest over 64 deep");
  const std::uint64_t bit = std::uint64_t{1} << depth_++;
  objects_ = object ? objects_ | bit : objects_ & ~bit;
  ++at_;
  place_ = object ? Place::first_key : Place::first_value;
  return object ? Token::begin_object : Token::begin_array;
}

Token JsonScanner::close(char bracket) {
  if (in_object() != (bracket == '}')) refuse("a bracket that closes another kind");
  ++at_;
  place_ = --depth_ == 0 ? Place::nothing : Place::comma_or_end;
  return bracket == '}' ? Token::end_object : Token::end_array;
}

void JsonScanner::skip_rest() {
  const unsigned outside = depth_ - 1;
  while (depth_ != outside) {
    token_bytes_ = 0;
    while (at_ != end_ && *at_ != '"' && *at_ != '{' && *at_ != '[' && *at_ != '}' && *at_ != ']') ++at_;
    if (at_ == end_) {
      if (!refill()) refuse_end();
    } else if (*at_ == '"') {
      (void)scan_string(false);
    } else if (*at_ == '{' || *at_ == '[') {
      (void)open(*at_ == '{');
    } else {
      (void)close(*at_);
    }
  }
}

void JsonScanner::keep(const char* from, const char* to) {
  const auto size = static_cast<std::size_t>(to - from);
  kept_.append(from, std::min(size, kMaxKept - std::min(kept_.size(), kMaxKept)));
}

/// From one quote to the other; the text in between, still with its escapes, is text_, or kept_ where text_ is empty.
/// True when it has an escape.
bool JsonScanner::scan_string(bool keep_it) {
  ++at_;
  kept_.clear();
  text_ = {};
  token_bytes_ = 0;
  // Nearly every string: no escape in it, and its end in the same chunk.
  const char* plain = at_;
  while (plain != end_ && *plain != '"' && *plain != '\\') ++plain;
  if (plain != end_ && *plain == '"') {
    if (keep_it) text_ = std::string_view(at_, std::min(static_cast<std::size_t>(plain - at_), kMaxKept));
    at_ = plain + 1;
    return false;
  }
  bool escapes = false, escaped = false;  // escaped: the backslash was the last byte of a chunk
  for (;;) {
    const char* from = at_;
    while (at_ != end_ && (*at_ != '"' || escaped)) {
      const bool backslash = *at_ == '\\' && !escaped;
      escapes = escapes || backslash;
      escaped = backslash;
      ++at_;
    }
    if (at_ != end_) {
      if (keep_it && kept_.empty())
        text_ = std::string_view(from, std::min(static_cast<std::size_t>(at_ - from), kMaxKept));
      else if (keep_it)
        keep(from, at_);
      ++at_;
      return escapes;
    }
    if (keep_it) keep(from, at_);
    count(static_cast<std::size_t>(at_ - from));
    if (!refill()) refuse_end();
  }
}

void JsonScanner::read_string() {
  const bool escapes = scan_string(true);
  if (kept_.empty() && !escapes) return;
  if (kept_.empty()) kept_ = text_;
  if (escapes) {
    const auto parsed = nlohmann::json::parse('"' + kept_ + '"', nullptr, false);
    if (parsed.is_string()) kept_ = parsed.get<std::string>();  // else it stays as it was written
  }
  text_ = kept_;
}

void JsonScanner::read_scalar() {
  kept_.clear();
  token_bytes_ = 0;
  for (;;) {
    const char* from = at_;
    while (at_ != end_ && is_scalar(*at_)) ++at_;
    if (at_ != end_ && kept_.empty()) {
      text_ = std::string_view(from, std::min(static_cast<std::size_t>(at_ - from), kMaxKept));
      return;
    }
    keep(from, at_);
    count(static_cast<std::size_t>(at_ - from));
    if (at_ != end_ || !refill()) break;
  }
  text_ = kept_;
}

}  // namespace refrain
