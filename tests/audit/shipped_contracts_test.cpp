// The contract files that are shipped, on graphs laid out by hand: what a correct
// step gets, and what a broken one is told. The byte counts are those of the
// tensors' shapes, worked out here and not by the files' expressions.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <set>

#include "tests/audit/contract_world.hpp"
#include "tests/catch.hpp"

using namespace refrain;
using namespace refrain::test;

namespace {

constexpr std::int32_t kTokens = 4, kHeads = 8, kKvHeads = 2, kDim = 64, kBlock = 16, kTable = 6;
constexpr std::int64_t kQkv = (kHeads + 2 * kKvHeads) * kDim;  // elements of one token's row
constexpr std::uint64_t kBf16 = 2;
constexpr std::uint64_t kBlockBytes = std::uint64_t{kBlock} * kKvHeads * kDim * kBf16;
constexpr std::uint64_t kCacheBytes = 20 * kBlockBytes;

enum Place : BufferId {
  hidden,
  normed,
  weight,
  qkv,
  positions,
  table,
  slots,
  k_cache,
  v_cache,
  blocks,
  lengths,
  scales,
  out
};
constexpr Address base_of(BufferId id) {
  return 0x7f00'0000'0000 + (Address{id} << 24);
}

std::vector<Buffer> buffers() {
  std::vector<Buffer> all = {buffer("hidden", base_of(hidden), kTokens * 512 * kBf16),
                             buffer("normed", base_of(normed), kTokens * 512 * kBf16),
                             buffer("weight", base_of(weight), 512 * kBf16),
                             buffer("qkv", base_of(qkv), kTokens * kQkv * kBf16),
                             buffer("positions", base_of(positions), kTokens * 8),
                             buffer("cos_sin_cache", base_of(table), 4096 * kDim * kBf16),
                             buffer("slot_mapping", base_of(slots), kTokens * 8),
                             buffer("k_cache", base_of(k_cache), kCacheBytes, Role::kv_pool),
                             buffer("v_cache", base_of(v_cache), kCacheBytes, Role::kv_pool),
                             buffer("block_tables", base_of(blocks), kTokens * kTable * 4),
                             buffer("seq_lens", base_of(lengths), kTokens * 4),
                             buffer("scales", base_of(scales), 8),
                             buffer("out", base_of(out), kTokens * kHeads * kDim * kBf16, Role::output)};
  all[k_cache].reserved = all[v_cache].reserved = {0, kBlockBytes};
  return all;
}

Address q_at() {
  return base_of(qkv);
}
Address k_at() {
  return base_of(qkv) + std::uint64_t{kHeads} * kDim * kBf16;
}
Address v_at() {
  return k_at() + std::uint64_t{kKvHeads} * kDim * kBf16;
}

Node norm() {
  return kernel(
      "void vllm::rms_norm_kernel<c10::BFloat16>(c10::BFloat16*, c10::BFloat16 const*, long, c10::BFloat16 const*, "
      "float, int, int)",
      {kTokens, 1, 1},
      Params()
          .add(base_of(normed))
          .add(base_of(hidden))
          .add(std::int64_t{512})
          .add(base_of(weight))
          .add(1e-6f)
          .add(kTokens)
          .add(std::int32_t{512}));
}

/// A GEMM of the library that has a contract of its maker's: qkv from the normed rows.
Node project() {
  Node node;
  node.name = node.op = "gemm";
  node.has_contract = true;
  node.accesses = {{normed, {0, kTokens * 512 * kBf16}, Mode::read, Reach::exact, {}, {}, {}},
                   {qkv, {0, kTokens * kQkv * kBf16}, Mode::write, Reach::exact, {}, {}, {}}};
  return node;
}

Node rope() {
  return kernel(
      "void vllm::rotary_embedding_kernel<c10::BFloat16, c10::BFloat16, true>(long const*, c10::BFloat16*, "
      "c10::BFloat16*, c10::BFloat16 const*, int, long, long, long, int, int, int, long, bool)",
      {kTokens, 1, 1},
      Params()
          .add(base_of(positions))
          .add(q_at())
          .add(k_at())
          .add(base_of(table))
          .add(kDim)
          .add(kQkv)
          .add(kQkv)
          .add(std::int64_t{kDim})
          .add(kHeads)
          .add(kKvHeads)
          .add(kDim)
          .add(std::int64_t{0})
          .add(false));
}

Node append(std::int32_t block_elements = kBlock * kKvHeads * kDim) {
  return kernel(
      "void vllm::reshape_and_cache_flash_kernel<__nv_bfloat16, __nv_bfloat16, (vllm::Fp8KVCacheDataType)0>("
      "__nv_bfloat16 const*, __nv_bfloat16 const*, __nv_bfloat16*, __nv_bfloat16*, long const*, int, int, int, int, "
      "int, int, float, float)",
      {kTokens, 1, 1},
      Params()
          .add(k_at())
          .add(v_at())
          .add(base_of(k_cache))
          .add(base_of(v_cache))
          .add(base_of(slots))
          .add(block_elements)
          .add(static_cast<std::int32_t>(kQkv))
          .add(static_cast<std::int32_t>(kQkv))
          .add(kKvHeads)
          .add(kDim)
          .add(kBlock)
          .add(1.0f)
          .add(1.0f));
}

Node attend() {
  return kernel(
      "void vllm::paged_attention_v1_kernel<__nv_bfloat16, __nv_bfloat16, 64, 16, 128, (vllm::Fp8KVCacheDataType)0, "
      "false>(__nv_bfloat16*, __nv_bfloat16 const*, __nv_bfloat16 const*, __nv_bfloat16 const*, int, float, int "
      "const*, "
      "int const*, int, float const*, int, int, int, float const*, float const*, int, int, int, int, int)",
      {kHeads, kTokens, 1},
      Params()
          .add(base_of(out))
          .add(q_at())
          .add(base_of(k_cache))
          .add(base_of(v_cache))
          .add(kKvHeads)
          .add(0.125f)
          .add(base_of(blocks))
          .add(base_of(lengths))
          .add(kTable)
          .add(Address{0})
          .add(static_cast<std::int32_t>(kQkv))
          .add(kBlock * kKvHeads * kDim)
          .add(kBlock * kDim)
          .add(base_of(scales))
          .add(base_of(scales) + 4)
          .add(0)
          .add(0)
          .add(0)
          .add(0)
          .add(0));
}

/// The hidden rows come from outside: the graph's maker says so.
Graph step(std::vector<Node> nodes) {
  Graph graph = chain_of(buffers(), std::move(nodes));
  graph.entry.push_back({Fact::written, hidden, {0, kTokens * 512 * kBf16}, Origin::host_each_launch, "embed"});
  return graph;
}

Judged judged(std::vector<Node> nodes) {
  return judge(step(std::move(nodes)), load_contracts(shipped("vllm.json")));
}

std::set<std::string> rules_of(const Report& report) {
  std::set<std::string> ids;
  for (const Finding& finding : report.findings()) ids.insert(finding.rule);
  return ids;
}

}  // namespace

TEST_CASE("shipped contracts: a correct decode layer of vLLM has no finding and no unknown node") {
  const Judged result = judged({norm(), project(), rope(), append(), attend()});
  INFO(coverage_text(result.coverage, true) << report_text(result.report));
  CHECK(result.report.findings().empty());
  CHECK(result.report.unknown_nodes == 0);
  using State = NodeCoverage::State;
  std::vector<State> states;
  for (const NodeCoverage& node : result.coverage.nodes) states.push_back(node.state);
  CHECK(states ==
        std::vector<State>{State::from_file, State::own, State::from_file, State::from_file, State::from_file});
}

TEST_CASE("shipped contracts: rope before the q and k that it reads are written is a read before the write") {
  const Judged result = judged({norm(), rope(), project(), append(), attend()});
  INFO(report_text(result.report));
  CHECK(rules_of(result.report) == std::set<std::string>{"RF306"});
  CHECK(result.report.findings()[0].nodes == std::vector<NodeId>{1});
}

TEST_CASE("shipped contracts: a cache write in blocks smaller than the null block reaches it") {
  // The pool's block holds 16 tokens and the kernel was told 8: its block 1 is the null block's second half.
  const Judged result = judged({norm(), project(), rope(), append(kBlock * kKvHeads * kDim / 2), attend()});
  INFO(report_text(result.report));
  CHECK(rules_of(result.report) == std::set<std::string>{"RF310"});
}

TEST_CASE("shipped contracts: a KV cache that is written beside the attention that reads it is a race") {
  Graph graph = step({norm(), project(), rope(), append(), attend()});
  graph.edges.back() = {2, 4, EdgeKind::full};
  const Judged result = judge(std::move(graph), load_contracts(shipped("vllm.json")));
  INFO(report_text(result.report));
  CHECK(rules_of(result.report) == std::set<std::string>{"RF307"});
}

TEST_CASE("shipped contracts: a grid of more tokens than the rows that its buffers have overruns them") {
  Node wide = norm();
  wide.grid.x = kTokens + 1;
  const Judged result = judged({wide, project(), rope(), append(), attend()});
  INFO(report_text(result.report));
  CHECK(rules_of(result.report).contains("RF408"));
}

TEST_CASE("shipped contracts: q k and v as views of one tensor are rows of their own") {
  const Judged result = judged({norm(), project(), rope(), append(), attend()});
  const Node& node = result.graph.nodes[2];
  // positions, then for each token its q and its k, then the table.
  REQUIRE(node.accesses.size() == 1 + 2 * kTokens + 1);
  const std::uint64_t row = kQkv * kBf16, q_bytes = kHeads * kDim * kBf16, k_bytes = kKvHeads * kDim * kBf16;
  for (std::uint64_t token = 0; token < kTokens; ++token) {
    CHECK(node.accesses[1 + token].range == ByteRange{token * row, token * row + q_bytes});
    CHECK(node.accesses[1 + kTokens + token].range ==
          ByteRange{token * row + q_bytes, token * row + q_bytes + k_bytes});
    CHECK(node.accesses[1 + token].dtype == Dtype::bf16);
    CHECK(node.accesses[1 + token].certainty == Certainty::contract);
  }
  CHECK(node.waits == std::optional(false));
}

TEST_CASE("shipped contracts: a signature of another version fits nothing and stays unknown") {
  Node other = norm();
  other.name =
      "void vllm::rms_norm_kernel<c10::BFloat16>(c10::BFloat16*, c10::BFloat16 const*, c10::BFloat16 const*, float, "
      "int, int)";
  const Judged result = judged({other, project(), rope(), append(), attend()});
  CHECK(result.report.unknown_nodes == 1);
  CHECK(result.coverage.nodes[0].reason == "no pattern fits its name");
}

TEST_CASE("shipped contracts: FlashInfer's norm waits for the kernel ahead of it and the weight may be absent") {
  const std::string name =
      "void flashinfer::norm::RMSNormKernel<8u, __nv_bfloat16>(__nv_bfloat16*, __nv_bfloat16*, __nv_bfloat16*, "
      "unsigned "
      "int, unsigned int, unsigned int, float, float)";
  const auto launch = [&](Address weights) {
    return kernel(name, {kTokens, 1, 1},
                  Params()
                      .add(base_of(hidden))
                      .add(weights)
                      .add(base_of(normed))
                      .add(512u)
                      .add(512u)
                      .add(512u)
                      .add(0.0f)
                      .add(1e-6f));
  };
  const ContractFile files = load_contracts(shipped("flashinfer.json"));
  for (const Address weights : {base_of(weight), Address{0}}) {
    const Judged result = judge(step({launch(weights)}), files);
    INFO(coverage_text(result.coverage, true));
    CHECK(result.report.unknown_nodes == 0);
    CHECK(result.graph.nodes[0].waits == std::optional(true));
    CHECK(result.graph.nodes[0].accesses.size() == (weights == 0 ? 2 : 3));
  }
}

TEST_CASE("shipped contracts: the schema holds for every shipped file") {
  if (std::system("python3 -c 'import jsonschema' >/dev/null 2>&1") != 0)
    REFRAIN_SKIP("no python3 with jsonschema: the files are read by the program's own reader alone");
  const std::string check =
      "python3 -c 'import json, sys, jsonschema\n"
      "schema = json.load(open(sys.argv[1]))\n"
      "jsonschema.Draft202012Validator.check_schema(schema)\n"
      "for name in sys.argv[2:]: jsonschema.Draft202012Validator(schema).validate(json.load(open(name)))' ";
  CHECK(std::system(
            (check + shipped("schema.json") + " " + shipped("vllm.json") + " " + shipped("flashinfer.json")).c_str()) ==
        0);
  // A validator that lets everything pass would be no check.
  CHECK(std::system((check + shipped("schema.json") + " " + shipped("schema.json") + " >/dev/null 2>&1").c_str()) != 0);
}

TEST_CASE("shipped contracts: every one says what it rests on and has an id of its own") {
  std::set<std::string> ids;
  for (const char* file : {"vllm.json", "flashinfer.json"})
    for (const KernelContract& contract : load_contracts(shipped(file)).contracts) {
      INFO(contract.id);
      CHECK(ids.insert(contract.id).second);
      CHECK(contract.basis.find(" at ") != std::string::npos);
      CHECK_FALSE(contract.arguments.empty());
    }
  CHECK(ids.size() == 16);
}
