#include "bench/llama_decode.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "bench/gpu_kernels.hpp"
#include "graphs/error.hpp"
#include "kernels/codec.hpp"
#include "runtime/transfer.hpp"

namespace refrain::bench {
namespace {

constexpr std::uint64_t kInputsRoom = std::uint64_t{64} << 20;  ///< of addresses alone

std::int32_t pages_of(const LlamaShape& shape, std::int32_t context) {
  return (context - 1) / shape.page_size + 1;
}

ServingLimits limits_of(const LlamaShape& shape, const DecodeShape& decode) {
  ServingLimits limits;
  limits.context = decode.context;
  limits.pages = 1 + decode.batch * pages_of(shape, decode.context);
  limits.decode_rows = decode.batch;
  limits.prefill_tokens = limits.prefill_requests = 0;
  return limits;
}

}  // namespace

LlamaDecode::LlamaDecode(Driver& driver, const LlamaShape& shape, const DecodeShape& decode)
    : driver_(driver),
      shape_(shape),
      decode_(decode),
      limits_(limits_of(shape, decode)),
      arena_(driver, registry_, LlamaModel::arena_size(shape, limits_).bytes + kInputsRoom,
             LlamaModel::arena_size(shape, limits_).overlays),
      model_(registry_, arena_, shape, limits_) {
  // What the driver enqueues an op on: so events may be recorded around a replay.
  const OpLaunch look{"stream", {}, [this](void* stream) { raw_stream_ = static_cast<cudaStream_t>(stream); }};
  check(driver_.launch(look, stream_), "stream");
  fill_weights();
  place_inputs();
}

/// Matrices are of [-2, 2) and norms scale rows to 1/64, so that products of thousands stay within fp16.
void LlamaDecode::fill_weights() {
  const bench::Stream filling;
  std::uint32_t seed = 1;
  const auto random = [&](const Lease& lease, Dtype dtype) {
    const auto bytes = static_cast<std::int64_t>(registry_[lease.id()].bytes);
    launch_fill(lease.as<void>(), dtype, bytes, seed++, filling.get());
    check(cudaGetLastError(), "fill_kernel");
  };
  std::vector<std::byte> scale(static_cast<std::size_t>(shape_.width) * dtype_bytes(shape_.dtype()));
  for (std::int32_t i = 0; i < shape_.width; ++i) store_from_float(scale.data(), shape_.dtype(), i, 1.0f / 64);
  const LlamaMemory& memory = model_.memory();
  for (const Lease* table : {&memory.embedding, &memory.head}) random(*table, shape_.dtype());
  write_array(driver_, memory.final_norm, scale);
  for (const LlamaLayer& layer : memory.layers) {
    for (const Lease* norm : {&layer.attention_norm, &layer.ffn_norm}) write_array(driver_, *norm, scale);
    for (const Lease* matrix : {&layer.qkv, &layer.o, &layer.gate_up, &layer.down}) random(*matrix, shape_.dtype());
    write_array(driver_, layer.scales, std::vector<float>{1, 1});
    random(layer.pool, shape_.kv);
  }
  settle_writes(driver_);
  filling.wait();
}

void LlamaDecode::place_inputs() {
  const auto put = [&]<class T>(const char* name, Dtype dtype, const std::vector<T>& values) {
    inputs_.push_back(arena_.lease({name, values.size() * sizeof(T), Role::input, dtype}));
    write_array(driver_, inputs_.back(), values);
    return inputs_.back().as<T>();
  };
  const auto rows = static_cast<std::size_t>(decode_.batch);
  const std::int32_t pages = pages_of(shape_, decode_.context);
  std::vector<std::int32_t> requests(rows), table(rows * static_cast<std::size_t>(pages)), tokens(rows);
  std::iota(requests.begin(), requests.end(), 0);
  std::iota(table.begin(), table.end(), 1);
  std::mt19937 random(7);
  std::shuffle(table.begin(), table.end(), random);
  for (std::int32_t& token : tokens)
    token = static_cast<std::int32_t>(random() % static_cast<std::uint32_t>(shape_.vocab));
  StepPlaces& p = places_;
  p.batch.bucket = p.batch.requests = decode_.batch;
  p.batch.pages_per_request = pages;
  p.batch.rows = put("rows", Dtype::i32, std::vector{decode_.batch});
  p.batch.token_to_req = put("token_to_req", Dtype::i32, requests);
  p.batch.query_pos = put("query_pos", Dtype::i64, std::vector<std::int64_t>(rows, decode_.context - 1));
  p.batch.seq_len = put("seq_len", Dtype::i32, std::vector<std::int32_t>(rows, decode_.context));
  p.batch.page_table = put("page_table", Dtype::i32, table);
  p.tokens = put("tokens", Dtype::i32, tokens);
  p.real_requests = put("real_requests", Dtype::i32, std::vector{decode_.batch});
  p.temperature = put("temperature", Dtype::fp32, std::vector<float>(rows, 0));
  p.top_k = put("top_k", Dtype::i32, std::vector<std::int32_t>(rows, 0));
  p.top_p = put("top_p", Dtype::fp32, std::vector<float>(rows, 1));
  p.seeds = put("seeds", Dtype::i64, std::vector<std::uint64_t>(2 * rows, 1));
  next_ = arena_.lease({"next_tokens", rows * sizeof(std::int32_t), Role::output, Dtype::i32});
  p.next_tokens = next_.as<std::int32_t>();
  settle_writes(driver_);
}

LlamaDecode::Step LlamaDecode::capture(bool early) {
  const StepShape shape{Phase::decode, decode_.batch, decode_.batch, 1};
  StepKey key = model_.key(shape);
  for (const Lease& lease : inputs_) key.leases.push_back(registry_[lease.id()].allocation);
  key.leases.push_back(registry_[next_.id()].allocation);
  StepRecorder steps;
  steps.prepare = [&](Recorder& recorder, const StepKey&) {
    for (const Lease& lease : inputs_)
      recorder.entry(Fact::written, lease.address(), registry_[lease.id()].bytes, Origin::host_each_launch,
                     "LlamaDecode");
    model_.prepare(recorder, shape);
  };
  steps.record = [&](Recorder& recorder, const StepKey&) {
    recorder.start_early(early);
    model_.record(recorder, shape, places_);
  };
  const JudgedCapture capture({driver_, clock_, registry_, arena_, stream_}, steps, key, CaptureMode::global);
  if (capture.admitted() == nullptr)
    throw Error(ErrorKind::refused, bucket_name(key), capture.violation(), "bench_step");
  return {capture.admitted()->graph, GraphExec(driver_, arena_, *capture.admitted(), stream_)};
}

void LlamaDecode::require_tokens() {
  check(driver_.synchronize(stream_), "cudaStreamSynchronize");
  const auto tokens = read_array<std::int32_t>(driver_, next_, static_cast<std::size_t>(decode_.batch));
  for (const std::int32_t token : tokens)
    if (token < 0 || token >= shape_.vocab)
      throw Error(ErrorKind::driver, "decode", fmt::format("a row's next token is {}, no id of the vocabulary", token),
                  "bench_step");
}

}  // namespace refrain::bench
