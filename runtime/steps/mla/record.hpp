// The sparse MLA steps, written once against the recorder: page_split where the pool
// has 256-token pages, then the split decode and its merge for a bucket of up to 64
// rows, the prefill for more.
#pragma once

#include "runtime/recorder.hpp"
#include "runtime/steps/mla/buffers.hpp"

namespace refrain {

/// Eager, once: fills what the ops may read and never write, and declares what holds when a replay begins. Throws
/// Error{driver}.
void prepare_sparse_mla(Recorder& recorder, const MlaBuffers& buffers);
void record_sparse_mla(Recorder& recorder, const MlaBuffers& buffers);

}  // namespace refrain
