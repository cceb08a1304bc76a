// Shapes and steps that are not admitted, each with its line; and what an arena must have.
#include <functional>

#include "tests/catch.hpp"
#include "tests/runtime/model/attention_only_world.hpp"

using namespace refrain;
using namespace refrain::test;

namespace {

struct Unfit {
  std::function<void(AttentionOnlyShape&, ServingLimits&)> change;
  const char* says;
};

using Shape = AttentionOnlyShape;
using Limits = ServingLimits;

const std::vector<Unfit> kUnfit = {
    {[](Shape& s, Limits&) { s.dim = 96; }, "head dim 96: the attention kernels take 64, 128 and 256"},
    {[](Shape& s, Limits&) { s.heads = 3; },
     "3 query heads on 2 KV heads: a KV head serves a whole number of query heads, at most 16"},
    {[](Shape& s, Limits&) { s.page_size = 128; },
     "pages of 128 tokens: 64, or 256, which e4m3_584 records are split from"},
    {[](Shape& s, Limits&) { s.kv = Dtype::fp32; }, "a KV cache of fp32: it is fp16, bf16 or e4m3"},
    {[](Shape& s, Limits&) { s.vocab = (1 << 23) + 1; }, "a vocabulary of 8388609: at most 8388608"},
    {[](Shape& s, Limits&) { s.layers = 0; }, "layers 0"},
    {[](Shape& s, Limits&) { s.partition_tokens = 0; }, "partition tokens 0"},
    {[](Shape& s, Limits&) { s.gemm_workspace_bytes = -1; }, "a GEMM workspace of -1 bytes"},
    {[](Shape& s, Limits&) { s.blocks = 513; }, "513 blocks a row: 1 to 512, which is what a selection holds"},
    {[](Shape& s, Limits&) { s.blocks = 0; }, "0 blocks a row"},
    {[](Shape& s, Limits&) { s.sink_blocks = 10; }, "10 sink blocks: 0 to the blocks of a row, which are 9"},
    {[](Shape& s, Limits&) { s.topk = 100; }, "topk 100: a multiple of 64, the tile of sparse MLA"},
    {[](Shape& s, Limits&) { s.sink_tokens = 65; }, "65 sink tokens: 0 to topk, which is 64"},
    {[](Shape&, Limits& l) { l.pages = 1; }, "2 pages, the null block being one"},
    {[](Shape& s, Limits& l) { s.page_size = 256, l.pages = 1 << 23; },
     "8388608 KV pages of 256 tokens: every slot of an MLA layer has a number below 2^31, so at most 8388607"},
    {[](Shape&, Limits& l) { l.context = 0; }, "a context of 0 tokens"},
    {[](Shape&, Limits& l) { l.drafts = -1; }, "serving limits below 0"},
    {[](Shape& s, Limits& l) { s.partition_tokens = 1, l.context = 1 << 28, l.prefill_tokens = 1 << 24; },
     "16777216 prefill rows x 66 splits x 2 KV heads are over 2^31 - 1 blocks of one launch; take fewer rows or "
     "partitions of more than 1 tokens"},
};

struct Refused {
  StepShape step;
  const char* says;
};

const std::vector<Refused> kRefused = {
    {{Phase::decode, 7, 7, 1}, "decode of 7 rows: this model is made for 1 to 6"},
    {{Phase::decode, 3, 2, 1}, "decode of 3 rows for 2 requests: a request has one row"},
    {{Phase::decode, 4, 4, 2}, "decode with 2 query tokens a request: 1 here, more are for verify"},
    {{Phase::prefill, 91, 1, 1}, "prefill of 91 tokens: this model is made for 1 to 90"},
    {{Phase::prefill, 8, 5, 1}, "prefill of 5 requests: this model is made for 1 to 4"},
    {{Phase::verify, 20, 5, 4}, "verify of 5 requests: this model is made for 1 to 4"},
    {{Phase::verify, 5, 1, 5}, "verify of 4 drafted tokens a request: this model is made for 1 to 3"},
    {{Phase::verify, 7, 2, 4}, "verify of 7 rows: 2 requests with 4 query tokens each have 8"},
};

}  // namespace

TEST_CASE("attention_only: a shape that the kernels do not take is refused in one line before anything is leased") {
  for (const Unfit& c : kUnfit) {
    AttentionOnlyShape shape = small_attention_only(kAttentionOnlyCases[0], 1);
    ServingLimits limits = attention_only_limits();
    c.change(shape, limits);
    INFO(c.says);
    CHECK_THAT(unfit(shape, limits), Catch::Contains(c.says));
    CHECK(unfit(shape, limits).find('\n') == std::string::npos);
    const auto driver = make_test_driver();
    SequenceClock clock;
    BufferRegistry registry(clock);
    Arena arena(*driver, registry, 1 << 20);
    CHECK_THROWS_WITH(AttentionOnlyModel(registry, arena, shape, limits), Catch::Contains(c.says));
    CHECK(arena.bytes_leased() == 0);
  }
  CHECK(unfit(small_attention_only(kAttentionOnlyCases[0], 1), attention_only_limits()) == "");
}

TEST_CASE("attention_only: a step over the limits or of no sense is refused in one line that says what is admitted") {
  AttentionOnlyShape shape = small_attention_only(kAttentionOnlyCases[2], 1);
  const ServingLimits limits = attention_only_limits();
  for (const Refused& c : kRefused) CHECK(refusal_of(shape, limits, c.step) == c.says);
  const StepShape verify{Phase::verify, 8, 2, 4};
  for (const StepShape& step : {StepShape{Phase::decode, 6, 6, 1}, StepShape{Phase::prefill, 90, 4, 1},
                                StepShape{Phase::prefill, 1, 4, 1}, verify})
    CHECK(refusal_of(shape, limits, step) == "");
  shape.allow_e4m3_mtp = false;
  CHECK(refusal_of(shape, limits, verify) ==
        "verify over an E4M3 KV cache is opt-in; serve fp16 or bf16 KV, or set allow_e4m3_mtp");
  shape.kv = Dtype::bf16;
  CHECK(refusal_of(shape, limits, verify) == "");
}

TEST_CASE("attention_only: an arena of arena_size holds the model and one of 256 bytes fewer does not") {
  for (const AttentionOnlyCase& c : kAttentionOnlyCases)
    for (const std::int32_t verified : {0, 3}) {
      const AttentionOnlyShape shape = small_attention_only(c, 1);
      ServingLimits limits = attention_only_limits();
      limits.verify_requests = verified;
      const ArenaSize exact = AttentionOnlyModel::arena_size(shape, limits);
      const auto driver = make_test_driver();
      SequenceClock clock;
      BufferRegistry registry(clock);
      Arena enough(*driver, registry, exact.bytes, exact.overlays);
      const AttentionOnlyModel model(registry, enough, shape, limits);
      CHECK(enough.bytes_leased() == exact.bytes);
      const Overlays smaller{exact.overlays.count, exact.overlays.bytes - 256};
      for (const auto& [own, overlays] :
           {std::pair(exact.bytes - 256, exact.overlays), std::pair(exact.bytes, smaller)}) {
        Arena short_of_it(*driver, registry, own, overlays);
        CHECK_THROWS_WITH(AttentionOnlyModel(registry, short_of_it, shape, limits),
                          Catch::Contains("reserve a larger arena"));
      }
    }
}

TEST_CASE("attention_only: a layer's row has splits by its kind and by the layer's KV heads") {
  AttentionOnlyShape shape;
  shape.heads = shape.kv_heads = 8;
  CHECK(shape.partitions(LayerKind::dense, 4096) == 4);
  CHECK(shape.partitions(LayerKind::dense, 131'072) == 16);  // the most of 8 KV heads
  CHECK(shape.partitions(LayerKind::sparse, 131'072) == 3);  // 2,051 selected tokens in splits of 1,024
  shape.partition_tokens = 4;
  CHECK(shape.partitions(LayerKind::sparse, 131'072) == 128);  // the most of one KV head; 2,051 would take 513
}

TEST_CASE("attention_only: a key names the phase and its own scratch and what the layers are made of") {
  const auto driver = make_test_driver();
  AttentionOnlyWorld world(*driver, small_attention_only(kAttentionOnlyCases[2], 1), attention_only_limits());
  const AttentionOnlyModel& model = world.model();
  const StepKey decode = model.key({Phase::decode, 4, 4, 1});
  CHECK(bucket_name(decode) == "decode rows=4");
  CHECK(decode.step == "attention_only");
  CHECK(decode.partitions == 6);   // a context of 120 in splits of 20
  CHECK(decode.table_width == 2);  // and in pages of 64
  CHECK(decode.topk == 64);
  CHECK(decode.record == MlaRecord::e4m3_656);
  CHECK(decode.scales.size() == 2);  // an MLA layer's scales stand in its records
  CHECK(decode == model.key({Phase::decode, 4, 4, 1}));
  CHECK_FALSE(decode.same_shape(model.key({Phase::decode, 5, 5, 1})));
  CHECK(model.key({Phase::verify, 4, 1, 4}).leases != decode.leases);
}

TEST_CASE("attention_only: a seed is a model and load gives it back after the memory was lost") {
  const auto driver = make_test_driver();
  if (!has_gemm(*driver)) return;
  std::vector<std::vector<float>> logits;
  for (const std::uint64_t seed : {3, 3, 4}) {
    AttentionOnlyWorld world(*driver, small_attention_only(kAttentionOnlyCases[0], seed), attention_only_limits());
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
