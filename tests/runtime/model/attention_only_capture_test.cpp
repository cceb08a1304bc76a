// Every phase captured: the audit finds nothing, a replay gives the bits of the eager
// step whatever its pad rows hold, and no pad row leaves a byte in the cache.
#include <algorithm>
#include <cstring>

#include "tests/catch.hpp"
#include "tests/runtime/model/attention_only_world.hpp"

using namespace refrain;
using namespace refrain::test;

namespace {

constexpr Pads kPads[] = {Pads::ones, Pads::sevens, Pads::stale};

struct Outcome {
  std::vector<std::vector<std::int32_t>> tokens;
  std::vector<std::vector<float>> logits;  ///< of real rows
  std::vector<std::byte> pools;

  void add(const ModelResult& result, std::size_t real_rows) {
    tokens.push_back(result.next);
    logits.insert(logits.end(), result.logits.begin(), result.logits.begin() + static_cast<std::ptrdiff_t>(real_rows));
  }
};

bool same_bits(const std::vector<std::vector<float>>& a, const std::vector<std::vector<float>>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& x, const auto& y) {
    return x.size() == y.size() && std::memcmp(x.data(), y.data(), x.size() * sizeof(float)) == 0;
  });
}

/// Two requests through all phases: prefill by both routes of MLA and with a rest beside whole groups, and of one
/// token.
Outcome serve(Driver& driver, const AttentionOnlyShape& shape, std::uint64_t seed, bool replay, Pads pads) {
  AttentionOnlyWorld world(driver, shape, attention_only_limits());
  world.replay = replay;
  world.pads = pads;
  Random random(seed);
  ModelRequest a = world.request(67, random), b = world.request(15, random);
  b.temperature = 0.8f, b.top_p = 0.95f, b.seed = 77;
  Outcome out;
  out.add(world.prefill({{&a, 65}, {&b, 6}}, 74, 3), 2);
  out.add(world.prefill({{&a, 1}, {&b, 9}}, 13, 2), 2);
  const ModelResult last = world.prefill({{&a, 1}}, 4, 2);
  out.add(last, 1);
  a.tokens.push_back(last.next[0]);
  b.tokens.push_back(out.tokens[1][1]);
  for (int step = 0; step < 2; ++step) {
    const ModelResult result = world.decode({&a, &b}, 5);
    out.add(result, 2);
    a.tokens.push_back(result.next[0]), b.tokens.push_back(result.next[1]);
  }
  const ModelResult verified = world.verify({{&a, 1, {1, 2, 3}}, {&b, 1, {4, 5, 6}}}, 3, 3);
  out.add(verified, 8);
  out.tokens.push_back(verified.accepted);
  out.pools = world.pools();
  return out;
}

}  // namespace

TEST_CASE(
    "attention_only: captured steps of every phase pass the audit and replay as eager ones bit for bit with poisoned "
    "pads") {
  const std::uint64_t seed = std::random_device{}();
  INFO("seed " << seed);
  std::size_t turn = seed % std::size(kPads);
  for (const AttentionOnlyCase& c : kAttentionOnlyCases) {
    const auto driver = make_test_driver();
    if (!has_gemm(*driver)) return;
    const AttentionOnlyShape shape = small_attention_only(c, seed);
    const Outcome eager = serve(*driver, shape, seed, false, Pads::ones);
    const Pads pads = kPads[turn++ % std::size(kPads)];
    CAPTURE(to_string(c.kv), static_cast<int>(c.record), static_cast<int>(pads));
    const Outcome replayed = serve(*driver, shape, seed, true, pads);
    CHECK((replayed.tokens == eager.tokens));
    CHECK(same_bits(replayed.logits, eager.logits));
    CHECK((replayed.pools == eager.pools));
  }
}

TEST_CASE("attention_only: models of one kind of layer or two are captured and audited too") {
  for (const std::int32_t layers : {1, 2, 5}) {
    const auto driver = make_test_driver();
    if (!has_gemm(*driver)) return;
    AttentionOnlyShape shape = small_attention_only(kAttentionOnlyCases[0], 3);
    shape.layers = layers;
    ServingLimits limits = attention_only_limits();
    limits.verify_requests = 0;
    AttentionOnlyWorld world(*driver, shape, limits);
    world.replay = true;
    Random random(3);
    ModelRequest request = world.request(11, random);
    request.tokens.push_back(world.prefill({{&request, 11}}, 12, 1).next[0]);
    CAPTURE(layers);
    CHECK(request.tokens.back() >= 0);
    CHECK(world.decode({&request}, 2).next[0] >= 0);
    for (const Graph& graph : world.graphs) {
      const bool is_apart =
          std::any_of(graph.nodes.begin(), graph.nodes.end(), [](const Node& node) { return node.op == "pad_fix"; });
      CHECK_FALSE(is_apart);  // the planner fixes padding itself
    }
  }
}

TEST_CASE("attention_only: a capture whose entry nobody declared is not admitted") {
  const auto driver = make_test_driver();
  if (!has_gemm(*driver) || driver->device().kind == "cuda") return;  // there prepare() also plans the GEMMs
  AttentionOnlyWorld world(*driver, small_attention_only(kAttentionOnlyCases[0], 1), attention_only_limits());
  world.replay = true;
  world.prepares = false;
  Random random(1);
  ModelRequest request = world.request(3, random);
  CHECK_THROWS_WITH(world.prefill({{&request, 3}}, 4, 1), Catch::Contains("RF306"));
}

namespace {

/// The pools after two requests went through all phases, with so many spare rows. Pages of nobody are fresh, unless
/// pads count as rows.
std::vector<std::byte> append_some(Driver& driver, const AttentionOnlyCase& c, std::uint64_t seed, std::int32_t spare,
                                   Pads pads, bool counts_pads = false) {
  AttentionOnlyWorld world(driver, small_attention_only(c, seed), attention_only_limits());
  world.pads = pads;
  world.counts_pads = counts_pads;
  Random random(seed);
  ModelRequest a = world.request(9, random), b = world.request(20, random);
  a.tokens.push_back(3), b.tokens.push_back(7);
  a.tokens[0] = 1;  // not a stale pad's 0, which the control would write over it unseen
  (void)world.prefill({{&a, 9}, {&b, 20}}, 29 + spare, 2 + spare / 2);
  (void)world.decode({&a, &b}, 2 + spare);
  (void)world.verify({{&a, 0, {3}}, {&b, 0, {5, 6}}}, 2 + spare / 2, 3);
  for (std::size_t layer = 0; layer < 3; ++layer)
    for (std::int32_t page = 0; page < attention_only_limits().pages; ++page) {
      if (counts_pads || page == a.pages[0] || page == b.pages[0]) continue;  // of all that they fed
      const auto bytes = world.page(layer, page);
      REQUIRE(std::all_of(bytes.begin(), bytes.end(), [](std::byte value) { return value == std::byte{0xFF}; }));
    }
  return world.pools();
}

}  // namespace

TEST_CASE("attention_only: a pad row appends nothing and the null block and pages of nobody stay as they were") {
  const std::uint64_t seed = std::random_device{}();
  INFO("seed " << seed);
  const auto driver = make_test_driver();
  if (!has_gemm(*driver)) return;
  for (const AttentionOnlyCase& c : kAttentionOnlyCases) {
    CAPTURE(to_string(c.kv), static_cast<int>(c.record));
    const auto pools = append_some(*driver, c, seed, 3, Pads::ones);
    CHECK((append_some(*driver, c, seed, 3, Pads::stale) == pools));
    // Another bucket may have another GEMM algorithm on a GPU.
    if (driver->device().kind == "host") CHECK((append_some(*driver, c, seed, 0, Pads::sevens) == pools));
    CHECK_FALSE((append_some(*driver, c, seed, 3, Pads::stale, true) == pools));  // the control: pads that count append
  }
}
