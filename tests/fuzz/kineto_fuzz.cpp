// Chrome trace JSON of PyTorch's profiler. What is no gzip is read plain and, packed
// here, once more as gzip: both ways must come to the same.
#include <zlib.h>

#include <cstdlib>

#include "tests/fuzz/fuzz_support.hpp"
#include "traces/byte_source.hpp"
#include "traces/kineto/kineto_reader.hpp"
#include "traces/timeline_builder.hpp"

using namespace refrain;

namespace {

std::string packed(std::string_view text) {
  z_stream stream{};
  if (deflateInit2(&stream, 1, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK) std::abort();
  std::string out(deflateBound(&stream, text.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  if (deflate(&stream, Z_FINISH) != Z_STREAM_END) std::abort();
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

struct Counts {
  bool refused = true;
  std::size_t calls = 0, work = 0, ranges = 0;
  bool operator==(const Counts&) const = default;
};

Counts counts_of(const std::string& path) {
  Counts counts;
  fuzz::allow_refusal([&] {
    TimelineBuilder builder;
    read_kineto(path, builder);
    const Recording recording = builder.take();
    counts = {false, recording.timeline.calls.size(), recording.timeline.work.size(), recording.timeline.ranges.size()};
  });
  return counts;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = fuzz::text_of(data, size);
  const std::string& path = fuzz::file_with(text);
  fuzz::allow_refusal([&] { fuzz::judge_trace(read_kineto, path); });
  if (is_gzip(text)) return 0;
  const Counts plain = counts_of(path);
  if (plain != counts_of(fuzz::file_with(packed(text)))) std::abort();
  return 0;
}
