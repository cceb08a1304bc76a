// Shapes and steps that are not admitted, each with its line; and what an arena must have.
#include <functional>

#include "tests/catch.hpp"
#include "tests/runtime/model/llama_cases.hpp"

using namespace refrain;
using namespace refrain::test;

namespace {

struct Unfit {
  std::function<void(LlamaShape&, ServingLimits&)> change;
  const char* says;
};

const std::vector<Unfit> kUnfit = {
    {[](LlamaShape& s, ServingLimits&) { s.dim = 96; }, "head dim 96: the attention kernels take 64, 128 and 256"},
    {[](LlamaShape& s, ServingLimits&) { s.heads = 3; },
     "3 query heads on 2 KV heads: a KV head serves a whole number of query heads, at most 16"},
    {[](LlamaShape& s, ServingLimits&) { s.heads = 34; },
     "34 query heads on 2 KV heads: a KV head serves a whole number of query heads, at most 16"},
    {[](LlamaShape& s, ServingLimits&) { s.page_size = 6; }, "pages of 6 tokens: the page size is a multiple of 4"},
    {[](LlamaShape& s, ServingLimits&) { s.kv = Dtype::fp32; }, "a KV cache of fp32: it is fp16, bf16 or e4m3"},
    {[](LlamaShape& s, ServingLimits&) { s.vocab = (1 << 23) + 1; }, "a vocabulary of 8388609: at most 8388608"},
    {[](LlamaShape& s, ServingLimits&) { s.layers = 0; }, "layers 0"},
    {[](LlamaShape& s, ServingLimits&) { s.partition_tokens = 0; }, "partition tokens 0"},
    {[](LlamaShape& s, ServingLimits&) { s.gemm_workspace_bytes = -1; }, "a GEMM workspace of -1 bytes"},
    {[](LlamaShape&, ServingLimits& l) { l.pages = 1; }, "2 pages, the null block being one"},
    {[](LlamaShape&, ServingLimits& l) { l.context = 0; }, "a context of 0 tokens"},
    {[](LlamaShape&, ServingLimits& l) { l.drafts = -1; }, "serving limits below 0"},
    {[](LlamaShape& s, ServingLimits& l) { s.partition_tokens = 1, l.context = 1 << 28, l.prefill_tokens = 1 << 24; },
     "16777216 prefill rows x 66 splits x 2 KV heads are over 2^31 - 1 blocks of one launch; take fewer rows or "
     "partitions of more than 1 tokens"},
};

struct Refused {
  StepShape step;
  const char* says;
};

const std::vector<Refused> kRefused = {
    {{Phase::decode, 7, 7, 1}, "decode of 7 rows: this model is made for 1 to 6"},
    {{Phase::decode, 0, 0, 1}, "decode of 0 rows: this model is made for 1 to 6"},
    {{Phase::decode, 3, 2, 1}, "decode of 3 rows for 2 requests: a request has one row"},
    {{Phase::decode, 4, 4, 2}, "decode with 2 query tokens a request: 1 here, more are for verify"},
    {{Phase::prefill, 41, 1, 1}, "prefill of 41 tokens: this model is made for 1 to 40"},
    {{Phase::prefill, 8, 5, 1}, "prefill of 5 requests: this model is made for 1 to 4"},
    {{Phase::verify, 20, 5, 4}, "verify of 5 requests: this model is made for 1 to 4"},
    {{Phase::verify, 5, 1, 5}, "verify of 4 drafted tokens a request: this model is made for 1 to 3"},
    {{Phase::verify, 2, 2, 1}, "verify of 0 drafted tokens a request: this model is made for 1 to 3"},
    {{Phase::verify, 7, 2, 4}, "verify of 7 rows: 2 requests with 4 query tokens each have 8"},
};

}  // namespace

TEST_CASE("llama: a shape that the kernels do not take is refused in one line before anything is leased") {
  for (const Unfit& c : kUnfit) {
    LlamaShape shape = small_llama(Dtype::fp16, 1);
    ServingLimits limits = small_limits();
    c.change(shape, limits);
    INFO(c.says);
    CHECK_THAT(unfit(shape, limits), Catch::Contains(c.says));
    CHECK(unfit(shape, limits).find('\n') == std::string::npos);
    const auto driver = make_test_driver();
    SequenceClock clock;
    BufferRegistry registry(clock);
    Arena arena(*driver, registry, 1 << 20);
    CHECK_THROWS_WITH(LlamaModel(registry, arena, shape, limits), Catch::Contains(c.says));
    CHECK(arena.bytes_leased() == 0);
  }
  CHECK(unfit(small_llama(Dtype::fp16, 1), small_limits()) == "");
}

TEST_CASE("llama: a step over the limits or of no sense is refused in one line that says what is admitted") {
  const LlamaShape shape = small_llama(Dtype::fp16, 1);
  for (const Refused& c : kRefused) CHECK(refusal_of(shape, small_limits(), c.step) == c.says);
  for (const StepShape& step :
       {StepShape{Phase::decode, 6, 6, 1}, StepShape{Phase::prefill, 40, 4, 1}, StepShape{Phase::prefill, 1, 4, 1},
        StepShape{Phase::verify, 16, 4, 4}, StepShape{Phase::verify, 2, 1, 2}})
    CHECK(refusal_of(shape, small_limits(), step) == "");
}

TEST_CASE("llama: draft verification over E4M3 is opt-in and one without drafts in the limits is none") {
  LlamaShape shape = small_llama(Dtype::e4m3, 1);
  const StepShape verify{Phase::verify, 8, 2, 4};
  CHECK(refusal_of(shape, small_limits(), verify) == "");
  shape.allow_e4m3_mtp = false;
  CHECK(refusal_of(shape, small_limits(), verify) ==
        "verify over an E4M3 KV cache is opt-in; serve fp16 or bf16 KV, or set allow_e4m3_mtp");
  CHECK(refusal_of(shape, small_limits(), {Phase::decode, 2, 2, 1}) == "");
  shape.kv = Dtype::bf16;
  CHECK(refusal_of(shape, small_limits(), verify) == "");
  ServingLimits none = small_limits();
  none.verify_requests = 0;
  CHECK(refusal_of(shape, none, verify) == "verify: this model is made without drafts (verify_requests is 0)");
}

TEST_CASE("llama: an arena of arena_size holds the model and one of 256 bytes fewer does not") {
  Random random(fresh_seed());
  for (const Dtype kv : kKvDtypes) {
    const LlamaShape shape = random_llama(kv, random);
    for (const std::int32_t verified : {0, 3}) {
      ServingLimits limits = small_limits();
      limits.verify_requests = verified;
      const ArenaSize exact = LlamaModel::arena_size(shape, limits);
      const auto driver = make_test_driver();
      SequenceClock clock;
      BufferRegistry registry(clock);
      Arena enough(*driver, registry, exact.bytes, exact.overlays);
      const LlamaModel model(registry, enough, shape, limits);
      CHECK(enough.bytes_leased() == exact.bytes);
      const Overlays smaller{exact.overlays.count, exact.overlays.bytes - 256};
      for (const auto& [own, overlays] :
           {std::pair(exact.bytes - 256, exact.overlays), std::pair(exact.bytes, smaller)}) {
        Arena short_of_it(*driver, registry, own, overlays);
        CHECK_THROWS_WITH(LlamaModel(registry, short_of_it, shape, limits), Catch::Contains("reserve a larger arena"));
      }
    }
  }
}

TEST_CASE("llama: scratch stops growing with the context where a row has its most splits") {
  LlamaShape shape = small_llama(Dtype::fp16, 1);
  shape.heads = 16;
  shape.kv_heads = 8;
  shape.partition_tokens = 256;
  CHECK(shape.partitions(2048) == 8);
  CHECK(shape.partitions(4096) == 16);
  CHECK(shape.partitions(131'072) == 16);  // 8 KV heads x 16 wide blocks are a block for each of 132 multiprocessors
  const auto scratch = [&](std::int32_t context) {
    ServingLimits limits = small_limits();
    limits.context = context;
    return LlamaModel::arena_size(shape, limits).overlays.bytes;
  };
  // Of 40 prefill rows, 16 heads and 8 splits more: a partial of 64 floats and its LSE, and 256 bytes are a unit.
  CHECK(scratch(4096) - scratch(2048) == 40 * 16 * 8 * (64 + 1) * 4);
  CHECK(scratch(131'072) == scratch(4096));
}

TEST_CASE("llama: a key names the phase and its own scratch and differs between buckets and phases") {
  const auto driver = make_test_driver();
  LlamaWorld world(*driver, small_llama(Dtype::e4m3, 1), small_limits());
  const LlamaModel& model = world.model();
  const StepKey decode = model.key({Phase::decode, 4, 4, 1});
  CHECK(bucket_name(decode) == "decode rows=4");
  CHECK(decode.step == "llama");
  CHECK(decode.partitions == 4);   // a context of 48 in splits of 12
  CHECK(decode.table_width == 6);  // and in pages of 8
  CHECK(decode.scales.size() == 2);
  CHECK(decode == model.key({Phase::decode, 4, 4, 1}));
  CHECK_FALSE(decode.same_shape(model.key({Phase::decode, 5, 5, 1})));
  const StepKey verify = model.key({Phase::verify, 4, 1, 4});
  CHECK(bucket_name(verify) == "verify rows=4 q=4");
  CHECK(verify.leases != decode.leases);
}

TEST_CASE("llama: a seed is a model and load gives it back after the memory was lost") {
  const auto driver = make_test_driver();
  if (!has_gemm(*driver)) return;
  std::vector<std::vector<float>> logits;
  for (const std::uint64_t seed : {3, 3, 4}) {
    LlamaWorld world(*driver, small_llama(Dtype::fp16, seed), small_limits());
    Random random(9);
    ModelRequest request = world.request(12, random), again = request;
    logits.push_back(world.prefill({{&request, 12}}, 12, 1).logits[0]);
    world.arena().sleep();
    world.arena().wake();
    world.model().load(*driver);
    logits.push_back(world.prefill({{&again, 12}}, 12, 1).logits[0]);
  }
  for (const std::size_t same : {1, 2, 3}) CHECK((logits[same] == logits[0]));
  CHECK((logits[4] != logits[0]));
  CHECK((logits[5] == logits[4]));
}
