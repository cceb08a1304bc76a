#include "runtime/steps/attention/record.hpp"

#include <thread>

#include "runtime/steps/attention/step_args.hpp"

namespace refrain {
namespace {

/// Inputs that the host writes before every launch, and what was made once.
void declare_entry(Recorder& recorder, const AttentionBuffers& b) {
  const auto each_launch = [&](const Lease& lease, std::uint64_t bytes) {
    recorder.entry(Fact::written, lease.address(), bytes, Origin::host_each_launch, "the host, before every launch");
  };
  const StepOptions& o = b.options;
  const auto bucket = static_cast<std::uint64_t>(o.bucket_rows()), requests = static_cast<std::uint64_t>(o.requests);
  const std::uint64_t row_bytes = kHeadDim * dtype_bytes(o.q_dtype());
  each_launch(b.rows, 4);
  // The fault `stale-padding`: only the real rows of the tables are refreshed, the rest was written once.
  const bool stale = o.faults.has(Fault::stale_padding);
  const std::uint64_t refreshed = stale ? static_cast<std::uint64_t>(o.rows) : bucket;
  each_launch(b.token_to_req, refreshed * 4);
  each_launch(b.query_pos, refreshed * 8);
  if (stale) {
    recorder.entry(Fact::written, b.token_to_req.address(), bucket * 4, Origin::initialised_once, "the host, once");
    recorder.entry(Fact::written, b.query_pos.address(), bucket * 8, Origin::initialised_once, "the host, once");
  }
  each_launch(b.seq_len, requests * 4);
  each_launch(b.page_table, requests * static_cast<std::uint64_t>(pages_used(o) + 1) * 4);
  each_launch(b.selected, bucket * kSelectedWidth * 4);
  each_launch(b.q, bucket * kHeads * row_bytes);
  each_launch(b.k, bucket * row_bytes);
  each_launch(b.v, bucket * row_bytes);
  recorder.entry(Fact::written, b.scales.address(), 8, Origin::initialised_once, "loaded with the weights");
  recorder.entry(Fact::written, b.pool.lease().address(), b.pool.view().bytes(), Origin::initialised_once,
                 "the pool is filled on the device when it is made");
}

}  // namespace

// In the middle of the step, while it is captured (all of these leave an eager run alone but for their cost).
namespace {

void allocate_in_step(Driver& driver) {
  Address block = 0;
  check(driver.allocate(1 << 16, MemorySpace::device, block), "cudaMalloc");
  check(driver.release(block, MemorySpace::device), "cudaFree");
}

void break_capture(Recorder& recorder, const AttentionBuffers& b) {
  const FaultSet& faults = b.options.faults;
  Driver& driver = recorder.driver();
  if (faults.has(Fault::host_sync)) check(driver.synchronize(recorder.stream()), "cudaStreamSynchronize");
  if (faults.has(Fault::other_thread_sync)) std::thread([&] { (void)driver.synchronize_device(); }).join();
  if (faults.has(Fault::sync_copy))
    read_device(driver, std::as_writable_bytes(std::span(b.host_lse)), b.output.lse.address());
  if (faults.has(Fault::alloc_in_capture)) allocate_in_step(driver);
  if (faults.has(Fault::unjoined_fork)) {
    recorder.fork(b.side);
    recorder.launch(kv_append, append_args(b));
  }
}

void append(Recorder& recorder, const AttentionBuffers& b) {
  if (!b.options.faults.has(Fault::other_stream)) return recorder.launch(kv_append, append_args(b));
  // A library that launches on a stream of its own.
  check(recorder.driver().launch(bind_op(kv_append, append_args(b)), b.side), kv_append.name);
}

void finish_step(Recorder& recorder, const AttentionBuffers& b) {
  if (b.options.faults.has(Fault::pageable_copy))
    recorder.copy({reinterpret_cast<Address>(b.host_lse.data()), MemorySpace::pageable},
                  {b.output.lse.address(), MemorySpace::device}, b.host_lse.size() * sizeof(float));
}

}  // namespace

void prepare_attention(Recorder& recorder, const AttentionBuffers& b) {
  const FaultSet& faults = b.options.faults;
  declare_entry(recorder, b);
  if (faults.has(Fault::scratch_zero_outside))
    recorder.zero(b.xqa.counters.address(), static_cast<std::uint64_t>(b.xqa.counter_count()) * 4);
  if (faults.has(Fault::pad_fix_outside)) {
    recorder.launch(plan_grouped, plan_grouped_args(b));
    recorder.launch(pad_fix, pad_fix_args(b));
  }
}

void record_xqa_route(Recorder& recorder, const AttentionBuffers& b, const XqaBuffers& x, const OutputBuffers& output,
                      const FaultSet& faults) {
  const auto scope = recorder.scope("xqa");
  if (faults.has(Fault::workspace_on_host))
    recorder.copy({x.active_partitions.address(), MemorySpace::device},
                  {reinterpret_cast<Address>(b.host_partitions.data()), MemorySpace::pageable}, sizeof(std::int32_t));
  recorder.launch(plan_xqa, plan_xqa_args(b, x, faults));
  recorder.launch(xqa_decode, decode_args(b, x, output));
}

void record_grouped_prefill(Recorder& recorder, const AttentionBuffers& b) {
  const FaultSet& faults = b.options.faults;
  const auto scope = recorder.scope("grouped_prefill");
  append(recorder, b);
  break_capture(recorder, b);
  if (b.options.grouped()) {
    recorder.launch(plan_grouped, plan_grouped_args(b));
    recorder.launch(grouped_attention, attention_args(b));
    if (faults.has(Fault::pad_fix_late)) recorder.launch(pad_fix, pad_fix_args(b));
  }
  record_xqa_route(recorder, b, b.xqa, b.output, faults);
  finish_step(recorder, b);
}

void record_xqa_decode(Recorder& recorder, const AttentionBuffers& b) {
  const FaultSet& faults = b.options.faults;
  const auto scope = recorder.scope(to_string(b.options.step));
  append(recorder, b);
  break_capture(recorder, b);
  record_xqa_route(recorder, b, b.xqa, b.output, faults);
  finish_step(recorder, b);
}

void break_after_capture(RecordingDriver& driver, AttentionBuffers& b) {
  const FaultSet& faults = b.options.faults;
  if (faults.has(Fault::stale_pointer)) b.xqa.unguarded->drop();
  if (faults.has(Fault::reused_address)) b.xqa.unguarded->reuse();
  if (faults.has(Fault::workspace_grown)) b.xqa.unguarded->grow();
  if (faults.has(Fault::input_rebound))
    driver.bind("q", b.moved_q.address(), kHeadDim * dtype_bytes(b.options.q_dtype()));
}

}  // namespace refrain
