#include "runtime/steps/mla/record.hpp"

namespace refrain {
namespace {

std::uint64_t u(std::int64_t count) {
  return static_cast<std::uint64_t>(count);
}

/// Inputs that the host writes before every launch, and what was made once.
void declare_entry(Recorder& recorder, const MlaBuffers& b) {
  const auto each_launch = [&](const Lease& lease, std::uint64_t bytes) {
    recorder.entry(Fact::written, lease.address(), bytes, Origin::host_each_launch, "the host, before every launch");
  };
  const StepOptions& o = b.options;
  const std::uint64_t bucket = u(o.bucket_rows());
  each_launch(b.rows, 4);
  each_launch(b.q, bucket * u(o.heads) * u(b.source().dim()) * 2);
  each_launch(b.indices, bucket * u(o.topk) * 4);
  each_launch(b.lengths, bucket * 4);
  recorder.entry(Fact::written, b.pool.address(), b.source().bytes(), Origin::initialised_once,
                 "the pool is filled on the device when it is made");
  if (o.sinks)
    recorder.entry(Fact::written, b.sinks.address(), u(o.heads) * 4, Origin::initialised_once,
                   "loaded with the weights");
}

/// Pages that no step has touched, pages 1 to 3 and the pads at pages' ends are never written by page_split, and lie
/// in what attention may read. Page 0 is left out: zeroing that is page_split's own work, at every replay.
void fill_scratch(Recorder& recorder, const MlaBuffers& b) {
  const MlaPoolView scratch = b.scratch();
  const Address page1 = reinterpret_cast<Address>(scratch.data) + u(scratch.page_bytes());
  const std::uint64_t bytes = scratch.bytes() - u(scratch.page_bytes());
  // The fault's scratch has 2 GiB, and its graph is never launched.
  if (b.options.faults.has(Fault::split_int32_offsets))
    return recorder.entry(Fact::written, page1, bytes, Origin::initialised_once, "left as it is: nobody reads it");
  recorder.zero(page1, bytes);
}

}  // namespace

void prepare_sparse_mla(Recorder& recorder, const MlaBuffers& b) {
  declare_entry(recorder, b);
  if (b.options.splits_pages()) fill_scratch(recorder, b);
  if (b.decodes()) recorder.zero(b.partials.address(), u(b.split_rows()) * kMlaValueDim * sizeof(float));
}

void record_sparse_mla(Recorder& recorder, const MlaBuffers& b) {
  const auto scope = recorder.scope(to_string(b.options.step));
  if (b.options.splits_pages()) recorder.launch(page_split, b.split_args());
  if (!b.decodes()) return recorder.launch(sparse_mla_prefill, b.attention_args());
  recorder.launch(sparse_mla_decode, b.attention_args());
  recorder.launch(merge_mla, b.merge_args());
}

}  // namespace refrain
