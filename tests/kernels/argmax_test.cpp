#include "kernels/argmax.hpp"

#include <cmath>

#include "tests/catch.hpp"
#include "tests/kernels/check_writes.hpp"
#include "tests/kernels/decoder_cases.hpp"

using namespace refrain;
using namespace refrain::test;

TEST_CASE("argmax: the lowest id of the largest and -1 for rows that cannot be judged and for pad rows") {
  argmax_cases([](const ArgmaxArgs& args, Memory& memory) { run_checked(argmax, args, memory); });
}

TEST_CASE("argmax: the cases see a pad row that gets a token", "[!shouldfail]") {
  argmax_cases([](ArgmaxArgs args, Memory&) {
    args.rows = &args.bucket;
    argmax.host(args);
  });
}

TEST_CASE("argmax: a row beyond a NaN and beyond a tie") {
  const float logits[] = {1, 2, 2, -1, NAN, 9};
  const std::int32_t rows = 2;
  std::int32_t tokens[2] = {7, 7};
  argmax.host({.logits = logits, .rows = &rows, .dtype = Dtype::fp32, .bucket = 2, .vocab = 3, .tokens = tokens});
  CHECK(tokens[0] == 1);
  CHECK(tokens[1] == -1);
}
