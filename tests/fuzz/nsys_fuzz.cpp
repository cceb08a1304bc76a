// A SQLite file as it is: damaged pages, foreign schemas. nsys_rows_fuzz.cpp is
// about sound files with rows that make no sense.
#include "tests/fuzz/fuzz_support.hpp"
#include "traces/nsys/nsys_reader.hpp"

using namespace refrain;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::allow_refusal([&] { fuzz::judge_trace(read_nsys, fuzz::file_with(fuzz::text_of(data, size))); });
  return 0;
}
