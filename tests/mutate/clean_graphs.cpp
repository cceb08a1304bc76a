#include "tests/mutate/clean_graphs.hpp"

#include <algorithm>
#include <filesystem>

#include "audit/audit.hpp"
#include "runtime/session.hpp"
#include "tests/audit/build.hpp"
#include "tests/catch.hpp"
#include "tests/runtime/model/attention_only_world.hpp"
#include "tests/runtime/model/llama_cases.hpp"
#include "tests/runtime/test_driver.hpp"
#include "traces/readers.hpp"

namespace refrain::test {
namespace {

namespace fs = std::filesystem;

StepOptions options_of(StepKind step, std::int32_t rows, std::int32_t requests, std::int32_t context) {
  StepOptions options;
  options.step = step;
  options.rows = rows;
  options.requests = requests;
  options.context = context;
  options.allow_e4m3_mtp = step == StepKind::mtp_verify;
  return options;
}

std::vector<StepOptions> all_options() {
  std::vector<StepOptions> all;
  for (const Dtype kv : {Dtype::fp16, Dtype::bf16, Dtype::e4m3})
    for (const bool pdl : {false, true}) {
      std::vector<StepOptions> of_kv = {options_of(StepKind::grouped, 19, 1, 300),
                                        options_of(StepKind::grouped, 40, 3, 90),
                                        options_of(StepKind::grouped, 5, 1, 128), options_of(StepKind::xqa, 12, 4, 700),
                                        options_of(StepKind::mtp_verify, 15, 3, 200)};
      of_kv[1].bucket = 48;
      of_kv[3].page_size = 64;
      of_kv[4].draft_rule = pdl ? DraftRule::rejection : DraftRule::greedy;
      for (StepOptions& options : of_kv) {
        options.kv = kv;
        options.pdl = pdl;
        all.push_back(options);
      }
    }
  for (const MlaRecord record : {MlaRecord::e4m3_584, MlaRecord::e4m3_656, MlaRecord::bf16})
    for (const std::int32_t page : {64, 256}) {
      if (page == 256 && record != MlaRecord::e4m3_584) continue;
      for (StepOptions options :
           {options_of(StepKind::mla_prefill, 20, 1, 300), options_of(StepKind::mla_decode, 3, 1, 300)}) {
        options.record = record;
        options.page_size = page;
        options.topk = 128;
        options.sinks = page == 64;
        options.pdl = page == 256;
        all.push_back(options);
      }
    }
  return all;
}

Graph captured(Driver& driver, const StepOptions& options) {
  Session session(driver, options);
  Recorder recorder(session.driver, session.registry, session.stream);
  std::string error;
  const auto graph = session.capture(recorder, error);
  INFO(error);
  REQUIRE(graph);
  return graph->graph;
}

void take(ModelWorld& world, const char* name, std::vector<CleanGraph>& graphs) {
  for (Graph& graph : world.graphs) graphs.push_back({name + graph.name, std::move(graph)});
}

/// Every phase once.
void serve(ModelWorld& world) {
  world.replay = true;
  Random random(1);
  ModelRequest a = world.request(9, random), b = world.request(14, random);
  (void)world.prefill({{&a, 9}, {&b, 14}}, 32, 3);
  a.tokens.push_back(1), b.tokens.push_back(2);
  (void)world.decode({&a, &b}, 5);
  (void)world.verify({{&a, 0, {1, 2, 3}}, {&b, 0, {4, 5, 6}}}, 3, 3);
}

bool is_good(const fs::path& file) {
  const std::string stem = file.stem().string();
  return (stem.starts_with("good") || stem.ends_with("-good")) &&
         (file.extension() == ".json" || file.extension() == ".jsonl");
}

}  // namespace

std::vector<CleanGraph> step_graphs() {
  const auto driver = make_test_driver();
  std::vector<CleanGraph> graphs;
  for (const StepOptions& options : all_options()) {
    const StepOptions full = default_options(options);
    graphs.push_back({std::string(to_string(full.step)) + ": " + describe(full), captured(*driver, options)});
  }
  return graphs;
}

std::vector<CleanGraph> model_graphs() {
  const auto driver = make_test_driver();
  std::vector<CleanGraph> graphs;
  for (const Dtype kv : {Dtype::fp16, Dtype::e4m3}) {
    LlamaWorld world(*driver, small_llama(kv, 1), small_limits());
    world.early = kv == Dtype::e4m3;
    serve(world);
    take(world, "llama ", graphs);
  }
  for (const AttentionOnlyCase& c : kAttentionOnlyCases) {
    AttentionOnlyWorld world(*driver, small_attention_only(c, 1), attention_only_limits());
    serve(world);
    take(world, "attention only ", graphs);
  }
  return graphs;
}

std::vector<CleanGraph> case_graphs() {
  std::vector<CleanGraph> graphs;
  for (const auto& entry : fs::recursive_directory_iterator(fs::path(REFRAIN_SOURCE_DIR) / "tests" / "cases")) {
    if (!entry.is_regular_file() || !is_good(entry.path())) continue;
    for (Graph& graph : load_recording(entry.path().string()).graphs) {
      if (std::any_of(graph.nodes.begin(), graph.nodes.end(), is_unknown)) continue;
      // A graph that is clean for the calls around it is not clean alone.
      if (!audit_graphs({graph}).findings().empty()) continue;
      graphs.push_back(
          {entry.path().parent_path().filename().string() + "/" + entry.path().filename().string(), std::move(graph)});
    }
  }
  std::sort(graphs.begin(), graphs.end(), [](const CleanGraph& a, const CleanGraph& b) { return a.name < b.name; });
  return graphs;
}

CleanGraph copying_graph() {
  Node in = op("memcpy", {touch(0, Mode::read), touch(1, Mode::write)});
  Node out = op("memcpy", {touch(2, Mode::read), touch(3, Mode::write)});
  in.kind = out.kind = NodeKind::memcpy;
  in.copy = CopyInfo{0x1000, 0x2000, 64, MemorySpace::pinned, MemorySpace::device};
  out.copy = CopyInfo{0x3000, 0x4000, 64, MemorySpace::device, MemorySpace::pinned};
  Graph graph = graph_of({in, op("layer", {touch(1, Mode::read), touch(2, Mode::write)}), out}, {{0, 1}, {1, 2}}, 4);
  graph.buffers[0].space = graph.buffers[3].space = MemorySpace::pinned;
  graph.entry = {{Fact::written, 0, kAll, Origin::host_each_launch, "the host"}};
  return {"copies", std::move(graph)};
}

}  // namespace refrain::test
