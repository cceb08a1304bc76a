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
    std::vector<std::uint64_t> seeds(args.seeds, args.seeds + std::ptrdiff_t{2} * args.bucket);
    for (std::size_t row = 0; row < seeds.size() / 2; ++row) ++seeds[2 * row + 1];
    args.seeds = seeds.data();
    sample.host(args);
  });
}

TEST_CASE("sample: the cases see a row sampled that is not wanted", "[!shouldfail]") {
  sample_cases([](SampleArgs args, Memory&) {
    args.wanted = nullptr;
    sample.host(args);
  });
}

TEST_CASE("sample: a seed and an offset give one token in every row and others give others") {
  constexpr std::int32_t kRows = 1000;
  const std::vector<float> logits(kRows * 64, 0.0f), temperature(kRows, 1.0f), top_p(kRows, 1.0f);
  const std::vector<std::int32_t> top_k(kRows, 0);
  const std::int32_t rows = kRows;
  // Row i has the pair of number (i + shift) modulo the rows: the batch is turned round by `shift` rows.
  const auto run = [&](std::uint64_t seed, std::size_t shift) {
    std::vector<std::uint64_t> seeds;
    for (std::size_t row = 0; row < kRows; ++row) seeds.insert(seeds.end(), {seed, (row + shift) % kRows});
    std::vector<std::int32_t> tokens(kRows);
    sample.host({.logits = logits.data(),
                 .rows = &rows,
                 .temperature = temperature.data(),
                 .top_k = top_k.data(),
                 .top_p = top_p.data(),
                 .seeds = seeds.data(),
                 .bucket = kRows,
                 .vocab = 64,
                 .tokens = tokens.data()});
    return tokens;
  };
  const auto first = run(1, 0), turned = run(1, 17), other = run(2, 0);
  int same_row = 0, same_next = 0, moved = 0;
  for (std::size_t i = 0; i < first.size(); ++i) moved += turned[i] != first[(i + 17) % kRows];
  CHECK(moved == 0);
  for (std::size_t i = 0; i + 1 < first.size(); ++i) {
    same_row += first[i] == other[i];
    same_next += first[i] == first[i + 1];
  }
  CHECK(same_row < 60);  // 1000 / 64 expected, standard deviation 4
  CHECK(same_next < 60);
}
