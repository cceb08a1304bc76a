// In decode and verify steps what a request gets does not change with who else is in
// the batch: on the host driver to the bit, which attention_only.hpp promises. (In
// prefill it may, where another route serves a row.)
#include <cmath>

#include "tests/catch.hpp"
#include "tests/runtime/model/attention_only_world.hpp"

using namespace refrain;
using namespace refrain::test;

namespace {

/// Decodes a request whose prompt went in alone, among `others`; then verifies what it decoded.
std::vector<std::vector<float>> decode_among(const AttentionOnlyShape& shape, std::uint64_t seed, int others,
                                             std::int32_t spare_rows, Random& placement) {
  const auto driver = make_test_driver();
  AttentionOnlyWorld world(*driver, shape, attention_only_limits());
  Random random(seed);
  std::vector<std::int32_t> prompt;
  for (int i = 0; i < 70; ++i) prompt.push_back(static_cast<std::int32_t>(random() % 61));
  std::vector<ModelRequest> company;
  for (int i = 0; i < others; ++i) company.push_back(world.request(10, placement));
  ModelRequest request = world.request(prompt, placement);
  request.tokens.push_back(world.prefill({{&request, 70}}, 70, 1).next[0]);
  for (ModelRequest& other : company) other.tokens.push_back(world.prefill({{&other, 10}}, 10, 1).next[0]);
  std::vector<std::vector<float>> logits;
  ModelRequest guessed = request;
  for (int step = 0; step < 3; ++step) {
    std::vector<ModelRequest*> batch;
    for (ModelRequest& other : company) batch.push_back(&other);
    batch.push_back(&request);
    const ModelResult result = world.decode(batch, others + 1 + spare_rows);
    for (std::size_t i = 0; i < batch.size(); ++i) batch[i]->tokens.push_back(result.next[i]);
    logits.push_back(result.logits[static_cast<std::size_t>(others)]);
  }
  const std::vector<std::int32_t> drafts(request.tokens.begin() + 71, request.tokens.begin() + 73);
  const ModelResult verified = world.verify({{&guessed, 1, drafts}}, 1 + spare_rows, 2);
  CHECK(verified.accepted[0] == 2);  // greedy decoding again
  for (std::size_t q = 0; q < 3; ++q) CHECK((verified.logits[q] == logits[q]));
  return logits;
}

}  // namespace

TEST_CASE("attention_only: decode and verify give a request the same bits in every batch and bucket and on any pages") {
  const std::uint64_t seed = std::random_device{}();
  INFO("seed " << seed);
  Random placement(seed);
  for (const AttentionOnlyCase& c : kAttentionOnlyCases) {
    const AttentionOnlyShape shape = small_attention_only(c, seed);
    const auto alone = decode_among(shape, seed, 0, 0, placement);
    CAPTURE(to_string(c.kv), static_cast<int>(c.record));
    CHECK((decode_among(shape, seed, 2, 1, placement) == alone));
  }
}

TEST_CASE("attention_only: the comparison of bits sees splits that are cut elsewhere") {
  Random placement(5);
  AttentionOnlyShape shape = small_attention_only(kAttentionOnlyCases[1], 5);
  const auto one = decode_among(shape, 5, 0, 0, placement);
  shape.partition_tokens = 23;
  CHECK((decode_among(shape, 5, 0, 0, placement) != one));
}
