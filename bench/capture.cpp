// What a server's graphs cost to make: all buckets of a Llama-shaped decoder, captured,
// audited, instantiated and uploaded, with their time beside PyTorch's for as many
// kernel nodes in the same run, their memory beside that of the largest shape alone, and
// an exec update beside an instantiation. Writes refrain.bench/1.
//   bench_capture [--layers N] [--repeats N] [--peer SCRIPT] [--device cuda|host] [--out FILE] [--commit HASH]
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <iostream>
#include <map>

#include "bench/driver_bench.hpp"
#include "graphs/error.hpp"
#include "runtime/engine/step_memory.hpp"
#include "runtime/graph_cache.hpp"
#include "runtime/model/llama.hpp"
#include "runtime/owned_stream.hpp"

namespace refrain::bench {
namespace {

constexpr std::size_t kPrefillBuckets = 40;
constexpr std::uint64_t kSlack = std::uint64_t{256} << 20;  ///< of addresses alone: the step's inputs, alignment

ServingLimits limits_of(bool small) {
  ServingLimits limits;
  limits.context = small ? 256 : 4096;
  limits.pages = small ? 64 : 8193;
  limits.decode_rows = small ? 20 : 512;
  limits.prefill_tokens = small ? 40 : 2048;
  limits.prefill_requests = 8;
  return limits;
}

LlamaShape shape_of(bool small, std::int32_t layers) {
  LlamaShape shape;
  shape.layers = layers;
  shape.width = small ? 64 : 1024;
  shape.heads = small ? 2 : 8;
  shape.kv_heads = small ? 1 : 2;
  shape.dim = small ? 64 : 128;
  shape.ffn = small ? 64 : 2816;
  shape.vocab = small ? 64 : 8192;
  shape.kv = Dtype::bf16;
  return shape;
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// A model with the memory of its steps, and the graphs of the shapes that are asked for.
class Server {
 public:
  Server(Driver& driver, const LlamaShape& shape, const ServingLimits& limits)
      : driver_(driver),
        arena_(driver, registry_, LlamaModel::arena_size(shape, limits).bytes + kSlack,
               LlamaModel::arena_size(shape, limits).overlays),
        model_(registry_, arena_, shape, limits),
        memory_(driver, registry_, arena_, StepShapes(limits, false),
                (limits.context + shape.page_size - 1) / shape.page_size, 2) {
    model_.load(driver_);
    Recorder recorder(driver_, registry_, stream_);
    memory_.ring().prepare(recorder);
    check(driver_.synchronize(stream_), "cudaStreamSynchronize");
  }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  [[nodiscard]] StepKey key(const StepShape& shape) {
    StepKey key = model_.key(shape);
    const std::vector<std::uint64_t> own = memory_.allocations();
    key.leases.insert(key.leases.end(), own.begin(), own.end());
    std::sort(key.leases.begin(), key.leases.end());
    shapes_[key] = shape;
    return key;
  }

  [[nodiscard]] StepRecorder recorder() {
    StepRecorder steps;
    steps.prepare = [this](Recorder& recorder, const StepKey& key) {
      memory_.ring().declare(recorder);
      model_.prepare(recorder, shapes_.at(key));
    };
    steps.record = [this](Recorder& recorder, const StepKey& key) {
      const StepShape& shape = shapes_.at(key);
      memory_.record_take(recorder, shape);
      model_.record(recorder, shape, memory_.places(shape));
      memory_.record_give(recorder, shape);
    };
    return steps;
  }

  [[nodiscard]] CaptureBench bench() { return {driver_, clock_, registry_, arena_, stream_}; }
  [[nodiscard]] Arena& arena() { return arena_; }
  void wait() { check(driver_.synchronize(stream_), "cudaStreamSynchronize"); }

 private:
  Driver& driver_;
  SequenceClock clock_;
  BufferRegistry registry_{clock_};
  Arena arena_;
  LlamaModel model_;
  StepMemory memory_;
  OwnedStream stream_{driver_};
  std::map<StepKey, StepShape> shapes_;
};

CacheOptions cache_options() {
  CacheOptions options;
  options.on_fallback = [](const StepKey& key, const std::string& reason) {
    throw Error(ErrorKind::refused, bucket_name(key), reason, "bench_capture");
  };
  return options;
}

struct Pass {
  double seconds = 0;
  std::vector<std::uint64_t> nodes;  ///< of each graph, in the order of their capture
  std::uint64_t graph_bytes = 0;
  std::uint64_t measured_bytes = 0;
};

/// Every graph of the keys from nothing, and away with them again.
Pass capture_all(Server& server, const std::vector<StepKey>& keys) {
  GraphCache cache(server.bench(), server.recorder(), cache_options());
  const auto start = std::chrono::steady_clock::now();
  const WarmUp warm_up = cache.warm_up(keys);
  server.wait();
  Pass pass;
  pass.seconds = seconds_since(start);
  pass.measured_bytes = warm_up.measured_bytes;
  if (warm_up.ready != keys.size())
    throw Error(ErrorKind::refused, "capture",
                warm_up.eager.empty() ? "graphs were left out" : warm_up.eager.front().second, "bench_capture");
  CacheStats stats = cache.stats();
  std::reverse(stats.graphs.begin(), stats.graphs.end());  // by key, so by rows: the largest was captured first
  for (const CachedGraph& graph : stats.graphs) pass.nodes.push_back(graph.nodes);
  pass.graph_bytes = stats.bytes;
  return pass;
}

/// What the script says of graphs of so many nodes; nothing, with the reason told, where it can't run.
nlohmann::ordered_json peer_of(const std::string& script, const std::vector<std::uint64_t>& nodes) {
  if (script.empty()) return nullptr;
  std::string counts;
  for (const std::uint64_t n : nodes) counts += fmt::format("{} ", n);
  const std::string command = fmt::format("echo {} | python3 {}", counts, script);
  std::FILE* pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) throw Error(ErrorKind::driver, "popen", "no shell", "bench_capture");
  std::string text;
  char part[256];
  while (std::fgets(part, sizeof part, pipe) != nullptr) text += part;
  if (::pclose(pipe) != 0) throw Error(ErrorKind::refused, script, "the peer did not run; see above", "bench_capture");
  return nlohmann::ordered_json::parse(text);
}

nlohmann::ordered_json measure(Server& server, const std::string& name, const std::vector<StepShape>& shapes,
                               std::int64_t repeats, const std::string& script) {
  std::vector<StepKey> keys;
  for (const StepShape& shape : shapes) keys.push_back(server.key(shape));
  const Pass first = capture_all(server, keys);
  std::vector<double> seconds;
  for (std::int64_t i = 0; i < repeats; ++i) seconds.push_back(capture_all(server, keys).seconds);
  std::sort(seconds.begin(), seconds.end());
  const double median = seconds[seconds.size() / 2];
  std::uint64_t nodes = 0;
  for (const std::uint64_t n : first.nodes) nodes += n;
  nlohmann::ordered_json row = {{"case", name},
                                {"graphs", keys.size()},
                                {"nodes", nodes},
                                {"capture_s", median},
                                {"capture_s_min", seconds.front()},
                                {"capture_s_max", seconds.back()},
                                {"first_capture_s", first.seconds},
                                {"graph_bytes", first.graph_bytes},
                                {"graph_measured_bytes", first.measured_bytes}};
  if (const nlohmann::ordered_json peer = peer_of(script, first.nodes); !peer.is_null()) {
    row["pytorch"] = peer["torch"];
    row["pytorch_capture_s"] = peer["capture_s"];
    row["over_pytorch_ratio"] = median / peer["capture_s"].get<double>();
  }
  row["limited_by"] =
      "capture_s: the driver's stream capture, graph introspection and the audit of each graph; first_capture_s holds "
      "the choice of GEMM algorithms and the loading of their kernels too";
  return row;
}

/// One graph's exec: made anew, and updated from another capture of the same step.
nlohmann::ordered_json measure_update(Server& server, const StepShape& shape, std::int64_t repeats) {
  const CaptureBench bench = server.bench();
  const StepRecorder steps = server.recorder();
  const StepKey key = server.key(shape);
  const JudgedCapture a(bench, steps, key, CaptureMode::global), b(bench, steps, key, CaptureMode::global);
  if (a.admitted() == nullptr || b.admitted() == nullptr)
    throw Error(ErrorKind::refused, bucket_name(key), a.violation() + b.violation(), "bench_capture");
  GraphExec exec(bench.driver, bench.arena, *a.admitted(), bench.stream);
  std::vector<double> made, updated;
  for (std::int64_t i = 0; i < std::max<std::int64_t>(repeats, 11); ++i) {
    auto start = std::chrono::steady_clock::now();
    {
      const GraphExec fresh(bench.driver, bench.arena, *b.admitted(), bench.stream);
      server.wait();
      made.push_back(seconds_since(start) * 1e6);
    }
    start = std::chrono::steady_clock::now();
    if (!exec.replace(bench.arena, i % 2 == 0 ? *b.admitted() : *a.admitted(), bench.stream))
      throw Error(ErrorKind::refused, bucket_name(key), "the exec could not be updated", "bench_capture");
    server.wait();
    updated.push_back(seconds_since(start) * 1e6);
  }
  const Times instantiate = times_of(made), update = times_of(updated);
  return {{"case", "update-" + bucket_name(key)},
          {"nodes", a.admitted()->graph.nodes.size()},
          {"instantiate_us", instantiate.median_us},
          {"instantiate_us_min", instantiate.min_us},
          {"instantiate_us_max", instantiate.max_us},
          {"update_us", update.median_us},
          {"update_us_min", update.min_us},
          {"update_us_max", update.max_us},
          {"update_over_instantiate_ratio", update.median_us / instantiate.median_us},
          {"limited_by", "the driver; both with the upload and a wait for it"}};
}

std::uint64_t granules(std::uint64_t bytes) {
  return (bytes + Driver::kMapGranularity - 1) / Driver::kMapGranularity * Driver::kMapGranularity;
}

/// Scratch of all graphs over that of the largest shape: the rest of the arena is one for all shapes anyhow.
nlohmann::ordered_json memory_row(Arena& arena, std::uint32_t overlays) {
  std::uint64_t largest = 0, sum = 0;
  for (std::uint32_t overlay = 1; overlay <= overlays; ++overlay) {
    largest = std::max(largest, arena.bytes_leased(overlay));
    sum += arena.bytes_leased(overlay);
  }
  const std::uint64_t mapped = arena.bytes_mapped() - granules(arena.bytes_leased(0));
  return {{"case", "memory"},
          {"arena_bytes", arena.bytes_mapped()},
          {"weights_and_pool_bytes", arena.bytes_leased(0)},
          {"scratch_bytes", mapped},
          {"largest_shape_scratch_bytes", largest},
          {"sum_of_phases_bytes", sum},
          {"bytes_over_largest_shape_ratio", static_cast<double>(mapped) / static_cast<double>(largest)},
          {"limited_by", "the 2 MiB in which memory is mapped: phases lie over one another, smaller buckets in front"}};
}

std::vector<StepShape> shapes_of(Phase phase, std::span<const std::int32_t> sizes, const ServingLimits& limits) {
  std::vector<StepShape> shapes;
  for (const std::int32_t rows : sizes)
    shapes.push_back({phase, rows, phase == Phase::prefill ? limits.prefill_requests : rows, 1});
  return shapes;
}

int run(const Arguments& arguments) {
  const std::unique_ptr<Driver> driver = open_driver(arguments);
  if (!driver) return kSkipped;
  const bool small = driver->device().kind == "host";
  const auto layers = static_cast<std::int32_t>(arguments.number("--layers", small ? 2 : 16, 1));
  const std::int64_t repeats = arguments.number("--repeats", 3, 1);
  const std::string script = arguments.text("--peer", "");
  nlohmann::ordered_json json = driver_frame("capture", arguments, *driver);
  const ServingLimits limits = limits_of(small);
  const LlamaShape shape = shape_of(small, layers);
  Server server(*driver, shape, limits);
  const BucketPolicy decode = BucketPolicy::decode_rows(limits.decode_rows),
                     prefill = BucketPolicy::prefill_tokens(limits.prefill_tokens);
  const std::span<const std::int32_t> chunks = prefill.sizes();
  const std::size_t largest = std::min(kPrefillBuckets, chunks.size());
  const auto decode_shapes = shapes_of(Phase::decode, decode.sizes(), limits);
  const auto prefill_shapes = shapes_of(Phase::prefill, chunks.last(largest), limits);
  const auto tell = [&](const nlohmann::ordered_json& row) {
    json["rows"].push_back(row);
    std::cerr << row.dump() << "\n";
  };
  tell(measure(server, fmt::format("decode-{}-buckets", decode_shapes.size()), decode_shapes, repeats, script));
  tell(measure(server, fmt::format("prefill-{}-buckets", prefill_shapes.size()), prefill_shapes, repeats, script));
  tell(memory_row(server.arena(), LlamaModel::arena_size(shape, limits).overlays.count));
  tell(measure_update(server, decode_shapes.back(), repeats));
  tell(measure_update(server, prefill_shapes.back(), repeats));
  write_result(json, arguments.text("--out", ""));
  return 0;
}

}  // namespace
}  // namespace refrain::bench

int main(int argc, char** argv) try {
  return refrain::bench::run({argc, argv, "bench_capture", {"--layers", "--repeats", "--peer"}});
} catch (const refrain::Error& error) {
  std::cerr << error.what() << "\n";
  return 2;
}
