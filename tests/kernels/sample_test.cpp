#include "kernels/sample.hpp"

#include <cmath>

#include "tests/catch.hpp"
#include "tests/kernels/check_writes.hpp"
#include "tests/kernels/decoder_cases.hpp"

using namespace refrain;
using namespace refrain::test;

namespace {

template <class T>
std::vector<T> all_rows(const SampleArgs& args, T value) {
  return std::vector<T>(static_cast<std::size_t>(args.bucket), value);
}

}  // namespace

TEST_CASE("sample: every draw fits the fp64 sums of what temperature and top-k and top-p leave") {
  sample_cases([](const SampleArgs& args, Memory& memory) { run_checked(sample, args, memory); });
}

TEST_CASE("sample: draws are distributed as the kept weights") {
  sample_draws([](const SampleArgs& args, Memory&) { sample.host(args); });
}

TEST_CASE("sample: the cases see a top-k that is not applied", "[!shouldfail]") {
  sample_cases([](SampleArgs args, Memory&) {
    const auto none = all_rows<std::int32_t>(args, 0);
    args.top_k = none.data();
    sample.host(args);
  });
}

TEST_CASE("sample: the cases see a top-p that is not applied", "[!shouldfail]") {
  sample_cases([](SampleArgs args, Memory&) {
    auto none = all_rows<float>(args, 1);
    for (std::size_t row = 0; row < none.size(); ++row)
      if (std::isnan(args.top_p[row])) none[row] = NAN;
    args.top_p = none.data();
    sample.host(args);
  });
}

TEST_CASE("sample: the draws see a temperature that is not applied", "[!shouldfail]") {
  sample_draws([](const SampleArgs& args, Memory&) {
    SampleArgs cold = args;
    const auto one = all_rows<float>(args, 1);
    cold.temperature = one.data();
    sample.host(cold);
  });
}

TEST_CASE("sample: the cases see draws of another offset", "[!shouldfail]") {
  sample_cases([](SampleArgs args, Memory&) {
    const std::uint64_t seed[2] = {args.seed[0], args.seed[1] + 1};
    args.seed = seed;
    sample.host(args);
  });
}

TEST_CASE("sample: a seed and an offset repeat their tokens and rows draw apart") {
  constexpr std::int32_t kRows = 1000;
  const std::vector<float> logits(kRows * 64, 0.0f), temperature(kRows, 1.0f), top_p(kRows, 1.0f);
  const std::vector<std::int32_t> top_k(kRows, 0);
  const std::int32_t rows = kRows;
  const auto run = [&](std::uint64_t offset) {
    const std::uint64_t seed[2] = {3, offset};
    std::vector<std::int32_t> tokens(kRows);
    sample.host({.logits = logits.data(),
                 .rows = &rows,
                 .temperature = temperature.data(),
                 .top_k = top_k.data(),
                 .top_p = top_p.data(),
                 .seed = seed,
                 .bucket = kRows,
                 .vocab = 64,
                 .tokens = tokens.data()});
    return tokens;
  };
  const auto first = run(1), again = run(1), other = run(2);
  CHECK((first == again));
  int same_row = 0, same_next = 0;
  for (std::size_t i = 0; i + 1 < first.size(); ++i) {
    same_row += first[i] == other[i];
    same_next += first[i] == first[i + 1];
  }
  CHECK(same_row < 60);  // 1000 / 64 expected, standard deviation 4
  CHECK(same_next < 60);
}
