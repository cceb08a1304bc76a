// What cudaGraphDebugDotPrint writes. What was read is written by the writer of the
// same format as well.
#include "graphs/readers.hpp"
#include "tests/fuzz/fuzz_support.hpp"

using namespace refrain;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::allow_refusal([&] { fuzz::judge(read_dot(fuzz::text_of(data, size), "input")); });
  return 0;
}
