// Step keys: whatever differs between two graphs differs between their keys, in order,
// in hash and in print.
#include "runtime/step_key.hpp"

#include <functional>
#include <set>
#include <unordered_set>

#include "runtime/host/host_driver.hpp"
#include "runtime/session.hpp"
#include "runtime/steps/key_of.hpp"
#include "tests/catch.hpp"

using namespace refrain;

namespace {

struct Change {
  const char* field;
  std::function<void(StepKey&)> apply;
  bool address = false;  ///< not part of the shape
};

const std::vector<Change> kChanges = {
    {"phase", [](StepKey& k) { k.phase = Phase::prefill; }},
    {"step", [](StepKey& k) { k.step = "llama"; }},
    {"rows", [](StepKey& k) { k.rows = 26; }},
    {"query_length", [](StepKey& k) { k.query_length = 2; }},
    {"requests", [](StepKey& k) { k.requests = 3; }},
    {"table_width", [](StepKey& k) { k.table_width = 66; }},
    {"page_size", [](StepKey& k) { k.page_size = 16; }},
    {"kv", [](StepKey& k) { k.kv = Dtype::fp16; }},
    {"q", [](StepKey& k) { k.q = Dtype::bf16; }},
    {"heads", [](StepKey& k) { k.heads = 8; }},
    {"kv_heads", [](StepKey& k) { k.kv_heads = 2; }},
    {"dim", [](StepKey& k) { k.dim = 128; }},
    {"partitions", [](StepKey& k) { k.partitions = 3; }},
    {"topk", [](StepKey& k) { k.topk = 512; }},
    {"record", [](StepKey& k) { k.record = MlaRecord::e4m3_656; }},
    {"sinks", [](StepKey& k) { k.sinks = true; }},
    {"draft_rule", [](StepKey& k) { k.draft_rule = DraftRule::rejection; }},
    {"a lease", [](StepKey& k) { k.leases.back() = 22; }, true},
    {"one lease more", [](StepKey& k) { k.leases.push_back(23); }, true},
    {"a scale", [](StepKey& k) { k.scales.front() = 0x2000; }, true},
    {"the order of the scales", [](StepKey& k) { std::swap(k.scales[0], k.scales[1]); }, true},
};

StepKey base_key() {
  StepKey key;
  key.step = "xqa_decode";
  key.rows = 24;
  key.requests = 24;
  key.table_width = 65;
  key.heads = 6;
  key.dim = 256;
  key.partitions = 9;
  key.leases = {3, 4, 5, 9, 21};
  key.scales = {0x1000, 0x1004};
  return key;
}

StepKey key_for(const StepOptions& options) {
  HostDriver driver;
  const Session session(driver, options);
  return key_of(*session.step, session.registry);
}

}  // namespace

TEST_CASE("step key: a change of any one field makes another key, another hash and another text") {
  const StepKey base = base_key();
  std::set<StepKey> ordered{base};
  std::set<std::string> texts{to_string(base)};
  std::unordered_set<std::size_t> hashes{StepKeyHash{}(base)};
  for (const Change& change : kChanges) {
    INFO(change.field);
    StepKey other = base;
    change.apply(other);
    CHECK(other != base);
    CHECK(((other < base) != (base < other)));
    CHECK(other.same_shape(base) == change.address);
    CHECK(ordered.insert(other).second);
    CHECK(texts.insert(to_string(other)).second);
    CHECK(hashes.insert(StepKeyHash{}(other)).second);
    CHECK(StepKeyHash{}(StepKey(other)) == StepKeyHash{}(other));
  }
}

TEST_CASE("step key: it prints every field with runs of leases as ranges") {
  CHECK(to_string(base_key()) ==
        "decode rows=24 q=1 step=xqa_decode requests=24 table=65 page=32 kv=e4m3 query=fp16 heads=6/1 dim=256 "
        "splits=9 topk=0 record=bf16 sinks=no drafts=greedy leases=3-5,9,21 scales=0x1000,0x1004");
  StepKey verify = base_key();
  verify.phase = Phase::verify;
  verify.step = "llama";
  verify.query_length = 5;
  CHECK(bucket_name(base_key()) == "decode rows=24");
  CHECK(bucket_name(verify) == "verify rows=24 q=5");
  verify.leases.clear();
  CHECK(to_string(verify).find("leases=none") != std::string::npos);
}

TEST_CASE("step key: neighbouring buckets and generations spread over a hash table") {
  std::unordered_set<std::size_t> low_bits;
  for (std::int32_t rows = 1; rows <= 32; ++rows)
    for (std::uint64_t lease = 1; lease <= 32; ++lease) {
      StepKey key = base_key();
      key.rows = rows;
      key.leases = {lease, lease + 1};
      low_bits.insert(StepKeyHash{}(key) % 4096);
    }
  // 1,024 keys thrown at random into 4,096 places fill about 4096 (1 - exp(-1/4)) = 906 of them.
  CHECK(low_bits.size() > 800);
}

TEST_CASE("step key: every option of a step that ends up in its graph ends up in its key") {
  StepOptions base;
  base.step = StepKind::xqa;
  base.rows = 4;
  base.context = 70;
  const StepKey key = key_for(base);
  CHECK(key == key_for(base));
  CHECK(key.rows == 4);
  CHECK(key.partitions == 9);     // 2,051 selected tokens in splits of 256
  CHECK(key.table_width == 4);    // 70 tokens in pages of 32, and the entry past them
  CHECK(key.scales.size() == 1);  // K's and V's in one buffer
  const std::vector<std::function<void(StepOptions&)>> changes = {[](StepOptions& o) { o.step = StepKind::grouped; },
                                                                  [](StepOptions& o) { o.bucket = 5; },
                                                                  [](StepOptions& o) { o.requests = 2; },
                                                                  [](StepOptions& o) { o.context = 130; },
                                                                  [](StepOptions& o) { o.page_size = 16; },
                                                                  [](StepOptions& o) { o.kv = Dtype::fp16; },
                                                                  [](StepOptions& o) { o.kv = Dtype::bf16; }};
  for (const auto& change : changes) {
    StepOptions other = base;
    change(other);
    CHECK_FALSE(key_for(other).same_shape(key));
  }
  StepOptions fewer_rows = base;
  fewer_rows.bucket = 4;
  fewer_rows.rows = 3;
  CHECK(key_for(fewer_rows).same_shape(key));  // the count of real rows is data
}

TEST_CASE("step key: a sparse MLA step has its record and heads and list length and sinks in its key") {
  StepOptions base;
  base.step = StepKind::mla_decode;
  base.rows = 4;
  base.context = 70;
  base.page_size = 64;
  const StepKey key = key_for(base);
  CHECK(key.heads == 16);
  CHECK(key.dim == 512);  // 448 values without a position and 64 with one
  CHECK(key.topk == 512);
  const std::vector<std::function<void(StepOptions&)>> changes = {
      [](StepOptions& o) { o.step = StepKind::mla_prefill; },
      [](StepOptions& o) { o.heads = 32; },
      [](StepOptions& o) { o.topk = 64; },
      [](StepOptions& o) { o.sinks = true; },
      [](StepOptions& o) { o.record = MlaRecord::e4m3_656; },
      [](StepOptions& o) { o.record = MlaRecord::bf16; },
      [](StepOptions& o) { o.page_size = 256; }};
  for (const auto& change : changes) {
    StepOptions other = base;
    change(other);
    CHECK_FALSE(key_for(other).same_shape(key));
  }
}

TEST_CASE("step key: a draft verification has its query length and rule in its key") {
  StepOptions base;
  base.step = StepKind::mtp_verify;
  base.context = 70;
  base.kv = Dtype::fp16;
  const StepKey key = key_for(base);
  CHECK(key.query_length == 5);
  StepOptions other = base;
  other.draft_rule = DraftRule::rejection;
  CHECK_FALSE(key_for(other).same_shape(key));
  other = base;
  other.drafts = 2;
  CHECK_FALSE(key_for(other).same_shape(key));
}
