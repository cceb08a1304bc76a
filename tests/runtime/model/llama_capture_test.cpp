// Every phase captured: the audit finds nothing, a replay gives the bits of the eager
// step whatever its pad rows hold, and no pad row leaves a byte in the cache.
#include <algorithm>
#include <cstring>

#include "tests/catch.hpp"
#include "tests/runtime/model/llama_cases.hpp"

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

/// Two requests through all phases; their buckets have pads, or as few as the shapes allow.
Outcome serve(Driver& driver, const LlamaShape& shape, std::uint64_t seed, bool replay, Pads pads) {
  LlamaWorld world(driver, shape, small_limits());
  world.replay = replay;
  world.pads = pads;
  Random random(seed);
  ModelRequest a = world.request(9, random), b = world.request(14, random);
  b.temperature = 0.8f, b.top_p = 0.95f, b.seed = 77;
  Outcome out;
  const auto go_on = [&](const ModelResult& result, std::size_t real_rows) {
    out.add(result, real_rows);
    a.tokens.push_back(result.next[0]), b.tokens.push_back(result.next[1]);
  };
  go_on(world.prefill({{&a, 9}, {&b, 14}}, 32, 4), 2);
  for (int step = 0; step < 3; ++step) go_on(world.decode({&a, &b}, 5), 2);
  const ModelResult verified = world.verify({{&a, 1, {1, 2, 3}}, {&b, 1, {4, 5, 6}}}, 3, 3);
  out.add(verified, 8);
  out.tokens.push_back(verified.accepted);
  out.pools = world.pools();
  return out;
}

/// The pools after one step of each phase with so many pad rows. Pages of no request must be as load() left them.
std::vector<std::byte> append_some(Driver& driver, std::uint64_t seed, std::int32_t spare, Pads pads,
                                   bool counts_pads = false) {
  LlamaWorld world(driver, small_llama(Dtype::fp16, seed), small_limits());
  world.pads = pads;
  Random random(seed);
  ModelRequest a = world.request(9, random), b = world.request(14, random);
  a.tokens.push_back(5), b.tokens.push_back(7);
  a.tokens[0] = 1;  // not a stale pad's 0, which the control would write over it unseen
  world.counts_pads = counts_pads;
  (void)world.prefill({{&a, 9}, {&b, 14}}, 23 + spare, 2 + spare / 2);
  (void)world.decode({&a, &b}, 2 + spare);
  (void)world.verify({{&a, 0, {3}}, {&b, 0, {5, 6}}}, 2 + spare / 2, 3);
  std::vector<bool> written(96, false);
  for (const ModelRequest* request : {&a, &b})
    for (std::int32_t token = 0; token < 17; token += 8)  // 11 tokens and 17, in pages of 8
      written[static_cast<std::size_t>(request->pages[static_cast<std::size_t>(token / 8)])] = true;
  for (std::size_t layer = 0; layer < 2; ++layer)
    for (std::int32_t page = 0; page < 96; ++page) {
      if (written[static_cast<std::size_t>(page)]) continue;
      const auto bytes = world.page(layer, page);
      REQUIRE(std::all_of(bytes.begin(), bytes.end(), [](std::byte value) { return value == std::byte{0xFF}; }));
    }
  return world.pools();
}

}  // namespace

TEST_CASE(
    "llama: captured steps of every phase pass the audit and replay as eager ones bit for bit with poisoned pads") {
  const std::uint64_t seed = fresh_seed();
  INFO("seed " << seed);
  for (const Dtype kv : kKvDtypes) {
    const auto driver = make_test_driver();
    if (!has_gemm(*driver)) return;
    const LlamaShape shape = small_llama(kv, seed);
    const Outcome eager = serve(*driver, shape, seed, false, Pads::ones);
    for (const Pads pads : kPads) {
      CAPTURE(to_string(kv), static_cast<int>(pads));
      const Outcome replayed = serve(*driver, shape, seed, true, pads);
      CHECK((replayed.tokens == eager.tokens));
      CHECK(same_bits(replayed.logits, eager.logits));
      CHECK((replayed.pools == eager.pools));
    }
  }
}

TEST_CASE("llama: a decode layer is nine nodes with four GEMMs and two kernels from the first to the second") {
  const auto driver = make_test_driver();
  if (!has_gemm(*driver)) return;
  LlamaWorld world(*driver, small_llama(Dtype::fp16, 1), small_limits());
  world.replay = true;
  Random random(1);
  ModelRequest request = world.request(9, random);
  request.tokens.push_back(world.prefill({{&request, 9}}, 9, 1).next[0]);
  (void)world.decode({&request}, 1);
  REQUIRE(world.graphs.size() == 2);
  std::vector<std::string> ops;
  std::ptrdiff_t gemms = 0;
  for (const Node& node : world.graphs.back().nodes)
    if (node.scope == "llama/layer 1") node.op == "gemm" ? static_cast<void>(++gemms) : ops.push_back(node.op);
  std::sort(ops.begin(), ops.end());
  CHECK((ops == std::vector<std::string>{"rms_norm", "rms_norm", "rope_append", "silu_mul", "xqa_decode"}));
  // cuBLASLt may take a second kernel for a GEMM.
  if (driver->device().kind == "host") CHECK(gemms == 4);
}

TEST_CASE("llama: a capture whose entry nobody declared is not admitted") {
  const auto driver = make_test_driver();
  if (!has_gemm(*driver) || driver->device().kind == "cuda") return;  // there prepare() also plans the GEMMs
  LlamaWorld world(*driver, small_llama(Dtype::fp16, 1), small_limits());
  world.replay = true;
  world.prepares = false;
  Random random(1);
  ModelRequest request = world.request(3, random);
  CHECK_THROWS_WITH(world.prefill({{&request, 3}}, 4, 1), Catch::Contains("RF306"));
}

TEST_CASE("llama: a pad row appends nothing and the null block and pages of nobody stay as they were") {
  const std::uint64_t seed = fresh_seed();
  INFO("seed " << seed);
  const auto driver = make_test_driver();
  if (!has_gemm(*driver)) return;
  const auto pools = append_some(*driver, seed, 3, Pads::ones);
  CHECK((append_some(*driver, seed, 3, Pads::sevens) == pools));
  CHECK((append_some(*driver, seed, 3, Pads::stale) == pools));
  // Another bucket may have another GEMM algorithm on a GPU.
  if (driver->device().kind == "host") CHECK((append_some(*driver, seed, 0, Pads::ones) == pools));
  CHECK_FALSE((append_some(*driver, seed, 3, Pads::stale, true) == pools));  // the control: pads that count do append
}
