// Files that were cut or changed on the way: read as far as they are sound, never
// taken for whole, and never a crash.
#include <fmt/format.h>

#include <algorithm>

#include "graphs/error.hpp"
#include "tests/catch.hpp"
#include "tests/traces/support.hpp"
#include "traces/recording_writer.hpp"

using namespace refrain;
using namespace refrain::test;

namespace {

std::string small_text() {
  const std::string path = path_of("small.rec");
  write_recording(path, full_recording(), {"host", "host driver", "host", "none"});
  return gunzip(bytes_of(path));
}

std::size_t records_in(const Recording& recording) {
  const Timeline& timeline = recording.timeline;
  return timeline.calls.size() + timeline.ranges.size() + timeline.buffers.size() + timeline.checks.size() +
         recording.graphs.size();
}

/// Whole lines of `text` that are records: neither header nor end.
std::size_t whole_records(const std::string& text) {
  const auto lines = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
  const bool ended = text.find("{\"type\":\"end\"") != std::string::npos && text.ends_with('\n');
  return lines == 0 ? 0 : lines - 1 - (ended ? 1 : 0);
}

/// Read, or refused with a byte: true when it was read.
bool survives(const std::string& path, Recording& out) {
  try {
    out = read(path);
    return true;
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::input);
    CHECK(std::string(error.what()).find('\n') == std::string::npos);
    CHECK(std::string(error.what()).find("expected") != std::string::npos);
    return false;
  }
}

std::string many_calls(std::size_t count) {
  std::string text = kHeader;
  for (std::size_t i = 0; i < count; ++i)
    text += fmt::format(R"({{"type":"call","seq":{},"api":"launch_kernel","t0":{},"detail":"k{}"}})"
                        "\n",
                        i, i * 37 % 1001, i * i % 97);
  return text + fmt::format(R"({{"type":"end","records":{}}})"
                            "\n",
                            count);
}

}  // namespace

TEST_CASE("damaged: plain text cut at any byte is read up to its last whole line, or refused inside its header") {
  const std::string text = small_text();
  const std::size_t header = text.find('\n') + 1;
  for (std::size_t size = 0; size < text.size(); ++size) {
    const std::string cut = text.substr(0, size);
    const std::string path = file_of("cut.jsonl", cut);
    INFO("cut at " << size);
    Recording recording;
    REQUIRE(survives(path, recording) == (size >= header));
    if (size < header) {
      CHECK(error_of(path).find(fmt::format("byte {}", size)) != std::string::npos);
      continue;
    }
    CHECK(records_in(recording) == whole_records(cut));
    CHECK(recording.timeline.problems.empty());
    CHECK_FALSE(recording.timeline.complete);
  }
}

TEST_CASE("damaged: gzip cut at any byte is read up to the last whole line that was unpacked, and is not complete") {
  const std::string bytes = gzip(small_text());
  std::size_t last = 0;
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    INFO("cut at " << size);
    Recording recording;
    if (!survives(file_of("cut.rec", bytes.substr(0, size)), recording)) {
      CHECK(last == 0);
      continue;
    }
    CHECK_FALSE(recording.timeline.complete);
    CHECK(recording.timeline.problems.empty());
    CHECK(records_in(recording) >= last);
    last = records_in(recording);
  }
  CHECK(last == whole_records(small_text()));
}

TEST_CASE("damaged: a long recording cut at every thousandth byte keeps the calls of its whole lines") {
  const std::string text = many_calls(2'000), bytes = gzip(text);
  for (std::size_t size = 1'000; size < text.size(); size += 1'000) {
    INFO("cut at " << size);
    const Recording recording = read(file_of("long.jsonl", text.substr(0, size)));
    CHECK(recording.timeline.calls.size() == whole_records(text.substr(0, size)));
    CHECK_FALSE(recording.timeline.complete);
  }
  std::size_t last = 0;
  for (std::size_t size = 1'000; size < bytes.size(); size += 1'000) {
    INFO("cut at " << size);
    const Recording recording = read(file_of("long.rec", bytes.substr(0, size)));
    CHECK(recording.timeline.calls.size() > last);
    CHECK_FALSE(recording.timeline.complete);
    last = recording.timeline.calls.size();
  }
}

TEST_CASE("damaged: a last line that is whole but lacks its line end counts as cut") {
  std::string text = recording_text({R"({"type":"call","seq":1,"api":"malloc"})", R"({"type":"end","records":1})"});
  text.pop_back();
  for (const std::string& file : {file_of("no-newline.jsonl", text), file_of("no-newline.rec", gzip(text))}) {
    CHECK_FALSE(read(file).timeline.complete);
    CHECK(read(file).timeline.calls.size() == 1);
  }
}

TEST_CASE("damaged: a changed byte in gzip is either noticed or changes nothing") {
  const std::string text = small_text(), bytes = gzip(text);
  const std::string whole = describe(read(file_of("whole.rec", bytes)));
  std::size_t noticed = 0;
  for (std::size_t at = 0; at < bytes.size(); ++at)
    for (const int flip : {0x01, 0x10, 0x80, 0xff}) {
      std::string changed = bytes;
      changed[at] = static_cast<char>(changed[at] ^ flip);
      INFO("byte " << at << " flipped by " << flip);
      Recording recording;
      const bool was_read = survives(file_of("flipped.rec", changed), recording);
      const Timeline& timeline = recording.timeline;
      if (was_read && timeline.complete && timeline.problems.empty())
        CHECK(describe(recording) == whole);
      else
        ++noticed;
    }
  CHECK(noticed > bytes.size() * 3);
}

TEST_CASE("damaged: a changed byte in plain text never crashes the reader") {
  const std::string text = small_text();
  for (std::size_t at = 0; at < text.size(); ++at)
    for (const int flip : {0x01, 0x20, 0xff}) {
      std::string changed = text;
      changed[at] = static_cast<char>(changed[at] ^ flip);
      Recording recording;
      INFO("byte " << at << " flipped by " << flip);
      if (survives(file_of("flipped.jsonl", changed), recording))
        CHECK(records_in(recording) + recording.timeline.problems.size() > 0);
    }
}

TEST_CASE("damaged: gzip that goes wrong in the middle is read up to there and says where") {
  std::string text = kHeader;
  for (std::size_t i = 0; i < 20'000; ++i)
    text += fmt::format(R"({{"type":"call","seq":{},"api":"free"}})"
                        "\n",
                        i);
  // 7 begins a last block of a kind that deflate does not have.
  const Recording recording = read(file_of("middle.rec", gzip(text, Flush::sync) + std::string(1'000, '\7')));
  CHECK(recording.timeline.calls.size() == 20'000);
  CHECK_FALSE(recording.timeline.complete);
  REQUIRE(recording.timeline.problems.size() == 1);
  CHECK(recording.timeline.problems[0].name == "gzip-corrupt");
  CHECK(recording.timeline.problems[0].first_offset == text.size());
}

TEST_CASE("damaged: gzip that unpacks to nonsense tells of the damage, however many bad records it looked like") {
  std::string text = kHeader;
  for (std::size_t i = 0; i < 2'000; ++i) text += "nonsense\n";
  std::string bytes = gzip(text);
  bytes[bytes.size() - 8] ^= 1;  // the checksum
  const Recording recording = read(file_of("nonsense.rec", bytes));
  CHECK(problems(recording, "too-many-problems") == 1);
  CHECK(problems(recording, "gzip-corrupt") == 1);
  CHECK_FALSE(recording.timeline.complete);
}

TEST_CASE("damaged: several gzip members are one file, zeros may pad it, and anything else behind it is corrupt") {
  const std::string first = kHeader + R"({"type":"call","seq":1,"api":"malloc"})" + "\n";
  const std::string second =
      std::string(R"({"type":"call","seq":2,"api":"free"})") + "\n" + R"({"type":"end","records":2})" + "\n";
  const std::string whole = gzip(first) + gzip(second);
  for (const std::string& bytes :
       {whole, whole + std::string(1'000, '\0'), gzip(first) + std::string(300'000, '\0') + gzip(second)}) {
    const Recording recording = read(file_of("members.rec", bytes));
    CHECK(recording.timeline.complete);
    CHECK(recording.timeline.calls.size() == 2);
  }
  const Recording trailed = read(file_of("trailed.rec", whole + "garbage"));
  CHECK(problems(trailed, "gzip-corrupt") == 1);
  CHECK(trailed.timeline.calls.size() == 2);
  CHECK_FALSE(trailed.timeline.complete);
  CHECK_FALSE(read(file_of("begun.rec", whole + "\x1f")).timeline.complete);
}
