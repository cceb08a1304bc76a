// What a layer of a whole decode step costs: the Llama-shaped model of the runtime with
// the dimensions of an 8B one, captured, audited and replayed, with programmatic edges
// (`layer_us`) and with full ones (`full_edges_layer_us`). A layer is the difference of
// two depths, so that embedding, head and sampling cancel. Beside it stands the floor, and
// from a traced run of the same graphs how long a layer's kernels ran and what lay between
// them: `kernels_us` and `gaps_us`, absent without CUPTI. Writes refrain.bench/1.
//   bench_step [--quick] [--cases NAME,NAME] [--out FILE] [--commit HASH]
#include <fmt/format.h>

#include <iostream>

#include "bench/step_floor.hpp"
#include "bench/step_gaps.hpp"
#include "graphs/error.hpp"
#include "runtime/cuda/make_cuda_driver.hpp"

namespace refrain::bench {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::int32_t kShallow = 4, kDeep = 8;
constexpr int kReplays = 51, kTraced = 21;

struct Case {
  DecodeShape decode;
  Dtype kv = Dtype::bf16;

  [[nodiscard]] std::string name() const {
    return fmt::format("{}-b{}-ctx{}", to_string(kv), decode.batch, decode.context);
  }
  [[nodiscard]] LlamaShape shape(std::int32_t layers) const {
    LlamaShape shape{.layers = layers, .width = 4096, .heads = 32, .kv_heads = 8, .dim = 128, .ffn = 14'336};
    shape.vocab = 128'256;
    shape.theta = 500'000;
    shape.kv = kv;
    return shape;
  }
};

std::vector<Case> cases_of(const Options& options) {
  std::vector<Case> cases;
  for (const std::int32_t batch : {1, 8, 16, 32, 64})
    for (const std::int32_t context : {1024, 8192}) cases.push_back({{batch, context}});
  cases.push_back({{32, 8192}, Dtype::e4m3});
  std::erase_if(cases, [&](const Case& c) {
    return !options.wants(c.name()) || (options.quick && (c.decode.batch > 8 || c.decode.context > 1024));
  });
  return cases;
}

struct Timed {
  Times early, full;
  std::size_t nodes = 0, nodes_a_layer = 0;
};

Timed time_step(Driver& driver, const Case& c, std::int32_t layers) {
  LlamaDecode model(driver, c.shape(layers), c.decode);
  Timed timed;
  for (const bool early : {true, false}) {
    LlamaDecode::Step step = model.capture(early);
    (early ? timed.early : timed.full) = time_replays(
        model.stream(), [&] { model.launch(step); }, kReplays);
    model.require_tokens();
    timed.nodes = step.graph.nodes.size();
    timed.nodes_a_layer = nodes_a_layer(step.graph);
  }
  return timed;
}

/// Until the traced run says more.
std::string limited_by(const LayerFloor& floor, double layer_us) {
  return fmt::format("reading at {:.2f} of the plain rate: weights {:.1f} us and K and V {:.1f} us of {:.1f} us",
                     floor.us() / layer_us, floor.gemms_us, floor.kv_us, layer_us);
}

Json measure(Driver& driver, const Case& c, const StepCeilings& ceilings) {
  const Timed shallow = time_step(driver, c, kShallow), deep = time_step(driver, c, kDeep);
  const auto a_layer = [](const Times& many, const Times& few) {
    return (many.median_us - few.median_us) / (kDeep - kShallow);
  };
  const double layer_us = a_layer(deep.early, shallow.early), full_us = a_layer(deep.full, shallow.full);
  const LayerFloor floor = floor_of(c.shape(kDeep), c.decode, ceilings);
  return {{"case", c.name()},
          {"layers", kDeep},
          {"nodes", deep.nodes},
          {"nodes_a_layer", deep.nodes_a_layer},
          {"step_us", deep.early.median_us},
          {"step_us_min", deep.early.min_us},
          {"step_us_max", deep.early.max_us},
          {"layer_us", layer_us},
          {"full_edges_step_us", deep.full.median_us},
          {"full_edges_layer_us", full_us},
          {"pdl_gain_us", full_us - layer_us},
          {"weight_bytes", floor.weight_bytes},
          {"kv_bytes", floor.kv_bytes},
          {"floor_us", floor.us()},
          {"floor_fraction_ratio", floor.us() / layer_us},
          {"limited_by", limited_by(floor, layer_us)}};
}

/// Adds what the traced run says, or why it says nothing.
void add_gaps(Driver& driver, const Case& c, KernelTrace& trace, Json& row) {
  LlamaDecode model(driver, c.shape(kDeep), c.decode);
  std::string said = row["limited_by"];
  for (const bool early : {true, false}) {
    LlamaDecode::Step step = model.capture(early);
    for (int i = 0; i < 3; ++i) model.launch(step);
    model.require_tokens();
    (void)trace.take();
    for (int i = 0; i < kTraced; ++i) {
      model.launch(step);
      check(cudaStreamSynchronize(model.stream()), "cudaStreamSynchronize");
    }
    std::string reason;
    const auto times = layer_times(step.graph, trace.take(), kTraced, reason);
    if (!times) {
      said += fmt::format("; no gaps {} programmatic edges: {}", early ? "with" : "without", reason);
      continue;
    }
    const std::string prefix = early ? "" : "full_edges_";
    row[prefix + "kernels_us"] = times->kernels_us;
    row[prefix + "gaps_us"] = times->gaps_us;
    if (!early)
      said += fmt::format("; with full edges, traced, kernels run {:.1f} us a layer and {:.1f} us lie between them",
                          times->kernels_us, times->gaps_us);
  }
  row["limited_by"] = said;
}

void run(const Options& options) {
  if (!cuda_device_present()) throw Error(ErrorKind::driver, "the device", cuda_absent_reason(), "bench_step");
  const std::unique_ptr<Driver> driver = make_cuda_driver();
  StepCeilings ceilings;
  {
    const Stream stream;
    ceilings.read_gbps = measure_read_gbps(stream);
  }
  Json json = frame("step", options, ceilings.read_gbps);
  json["ceilings"]["tensor_tflops"] = ceilings.tensor_tflops;
  const std::vector<Case> cases = cases_of(options);
  for (const Case& c : cases) {
    const Json& row = json["rows"].emplace_back(measure(*driver, c, ceilings));
    std::cerr << fmt::format("{:18} {:8.1f} us a layer of {} nodes, {:8.1f} with full edges, floor {:8.1f}\n", c.name(),
                             row["layer_us"].get<double>(), row["nodes_a_layer"].get<int>(),
                             row["full_edges_layer_us"].get<double>(), row["floor_us"].get<double>());
  }
  // Behind everything that is timed, for a CUPTI that was once attached cannot be unmade.
  std::string reason;
  auto trace = KernelTrace::start(reason);
  for (std::size_t i = 0; i < cases.size(); ++i) {
    Json& row = json["rows"][i];
    if (trace)
      add_gaps(*driver, cases[i], *trace, row);
    else
      row["limited_by"] = fmt::format("{}; no gaps: {}", row["limited_by"].get<std::string>(), reason);
    std::cerr << fmt::format("{:18} {}\n", cases[i].name(), row["limited_by"].get<std::string>());
  }
  write(json, options);
}

}  // namespace
}  // namespace refrain::bench

int main(int argc, char** argv) {
  return refrain::bench::main_of(argc, argv, "bench_step", refrain::bench::run);
}
