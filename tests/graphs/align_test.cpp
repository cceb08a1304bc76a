#include "graphs/align.hpp"

#include <algorithm>
#include <random>

#include "tests/catch.hpp"

using namespace refrain;

namespace {

using Words = std::vector<std::string>;

/// The length of the longest common subsequence by the textbook's table.
std::size_t longest(const Words& a, const Words& b) {
  std::vector<std::vector<std::size_t>> table(a.size() + 1, std::vector<std::size_t>(b.size() + 1, 0));
  for (std::size_t i = 1; i <= a.size(); ++i)
    for (std::size_t j = 1; j <= b.size(); ++j)
      table[i][j] = a[i - 1] == b[j - 1] ? table[i - 1][j - 1] + 1 : std::max(table[i - 1][j], table[i][j - 1]);
  return table[a.size()][b.size()];
}

void check_common(const Words& a, const Words& b, const std::vector<std::pair<std::size_t, std::size_t>>& matches) {
  for (std::size_t m = 0; m < matches.size(); ++m) {
    CHECK(a.at(matches[m].first) == b.at(matches[m].second));
    if (m == 0) continue;
    CHECK(matches[m - 1].first < matches[m].first);
    CHECK(matches[m - 1].second < matches[m].second);
  }
}

}  // namespace

TEST_CASE("align: random sequences give the longest common subsequence") {
  std::mt19937 random(std::random_device{}());
  for (int turn = 0; turn < 50; ++turn) {
    Words a(random() % 40), b(random() % 40);
    for (Words* words : {&a, &b})
      for (std::string& word : *words) word = std::string(1, static_cast<char>('a' + random() % 6));
    const auto matches = align(a, b);
    check_common(a, b, matches);
    CHECK(matches.size() == longest(a, b));
    check_common(a, b, align(a, b, 2));  // past the limit: common still, if not the longest
  }
}

TEST_CASE("align: past the limit a moved block is still the only difference") {
  Words a, b;
  for (int i = 0; i < 100; ++i) a.push_back(std::to_string(i));
  b.assign(a.begin() + 10, a.end());
  b.insert(b.end(), a.begin(), a.begin() + 10);
  CHECK(align(a, b, 3).size() == 90);
}

TEST_CASE("align: long sequences with nothing in common end at once and take little memory") {
  Words a(50000), b(50000);
  for (std::size_t i = 0; i < a.size(); ++i) {
    a[i] = std::to_string(2 * i);
    b[i] = std::to_string(2 * i + 1);
  }
  CHECK(align(a, b).empty());  // by the square of the length it would be 80 GB
}
