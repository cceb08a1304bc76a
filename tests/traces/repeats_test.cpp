// Periods and patterns in sequences of tokens, beside searches that try everything.
#include "traces/repeats.hpp"

#include <ctime>
#include <random>

#include "tests/catch.hpp"

using namespace refrain;

namespace {

using Tokens = std::vector<std::uint64_t>;

Tokens repeated(const Tokens& round, std::size_t times) {
  Tokens out;
  for (std::size_t i = 0; i < times; ++i) out.insert(out.end(), round.begin(), round.end());
  return out;
}

Tokens joined(std::initializer_list<Tokens> parts) {
  Tokens out;
  for (const Tokens& part : parts) out.insert(out.end(), part.begin(), part.end());
  return out;
}

/// The longest stretch with any period, by trying each; the shorter period where two are as long.
Repeat by_trying(const Tokens& tokens) {
  Repeat best;
  for (std::size_t period = 1; 3 * period <= tokens.size(); ++period)
    for (std::size_t start = 0; start + 3 * period <= tokens.size(); ++start) {
      std::size_t end = start + period;
      while (end < tokens.size() && tokens[end] == tokens[end - period]) ++end;
      if (end - start >= 3 * period && end - start > best.length) best = {start, period, end - start};
    }
  return best;
}

}  // namespace

TEST_CASE("repeats: a loop is found between a warm-up and a tail") {
  const auto found = find_repeat(joined({{90, 91, 92}, repeated({1, 2, 3, 4}, 5), {93, 94}}));
  REQUIRE(found);
  CHECK(found->start == 3);
  CHECK(found->period == 4);
  CHECK(found->length == 20);
}

TEST_CASE("repeats: the loop around layers is the period and not the layer") {
  const Tokens step = joined({{7}, repeated({1, 2, 3}, 32), {8, 9}});
  const auto found = find_repeat(repeated(step, 6));
  REQUIRE(found);
  CHECK(found->period == step.size());
  CHECK(found->length == 6 * step.size());
}

TEST_CASE("repeats: two rounds are no loop and three are") {
  CHECK_FALSE(find_repeat(repeated({1, 2, 3}, 2)));
  CHECK(find_repeat(repeated({1, 2, 3}, 3)));
  CHECK_FALSE(find_repeat(Tokens{}));
  CHECK_FALSE(find_repeat(Tokens{1}));
}

TEST_CASE("repeats: of random loops the stretch is as long as the longest that trying everything finds") {
  std::mt19937 random(std::random_device{}());
  for (int round = 0; round < 200; ++round) {
    Tokens loop(1 + random() % 12), head(random() % 20), tail(random() % 20);
    for (Tokens* part : {&loop, &head, &tail})
      for (std::uint64_t& token : *part) token = random() % 6;
    const Tokens tokens = joined({head, repeated(loop, 4 + random() % 5), tail});
    const Repeat expected = by_trying(tokens);
    const auto found = find_repeat(tokens);
    REQUIRE(found);
    CHECK(found->length == expected.length);
    CHECK(found->period == expected.period);
  }
}

TEST_CASE("repeats: occurrences are those of a scan from the left that skips what it found") {
  std::mt19937 random(std::random_device{}());
  for (int round = 0; round < 200; ++round) {
    Tokens tokens(random() % 200), pattern(1 + random() % 4);
    for (Tokens* part : {&tokens, &pattern})
      for (std::uint64_t& token : *part) token = random() % 2;
    std::vector<std::size_t> expected;
    for (std::size_t i = 0; i + pattern.size() <= tokens.size();)
      if (std::equal(pattern.begin(), pattern.end(), tokens.begin() + static_cast<std::ptrdiff_t>(i)))
        expected.push_back(i), i += pattern.size();
      else
        ++i;
    CHECK(occurrences(tokens, pattern) == expected);
  }
}

TEST_CASE("repeats: two million tokens take little time and a step of twenty thousand is found in them") {
  Tokens step(20'000);
  for (std::size_t i = 0; i < step.size(); ++i) step[i] = i % 97;
  step.front() = 1000;
  const Tokens tokens = repeated(step, 100);
  const std::clock_t start = std::clock();  // of this process: others may be busy
  const auto found = find_repeat(tokens);
  CHECK(std::clock() - start < 5 * CLOCKS_PER_SEC);
  REQUIRE(found);
  CHECK(found->period == step.size());
}
