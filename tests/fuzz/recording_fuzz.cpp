// refrain.recording/1, plain or gzip.
#include "tests/fuzz/fuzz_support.hpp"
#include "traces/recording_reader.hpp"

using namespace refrain;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::allow_refusal([&] { fuzz::judge_trace(read_recording, fuzz::file_with(fuzz::text_of(data, size))); });
  return 0;
}
