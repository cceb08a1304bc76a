// The attention steps, written once against the recorder: the same code runs
// eagerly or is captured.
#pragma once

#include "runtime/recorder.hpp"
#include "runtime/recording_driver.hpp"
#include "runtime/steps/attention/buffers.hpp"

namespace refrain {

/// Eager, once: declares what holds when a replay begins, and runs what the faults `*-outside` move out of the graph.
/// Throws Error{driver}.
void prepare_attention(Recorder& recorder, const AttentionBuffers& buffers);

/// One layer of attention: kv_append, then the grouped route for whole groups of 8 rows and XQA for the rest.
void record_grouped_prefill(Recorder& recorder, const AttentionBuffers& buffers);
/// One layer of attention: kv_append, then XQA for every row.
void record_xqa_decode(Recorder& recorder, const AttentionBuffers& buffers);
/// What the faults `stale-pointer`, `reused-address`, `workspace-grown` and `input-rebound` do between a capture and
/// its first replay.
void break_after_capture(RecordingDriver& driver, AttentionBuffers& buffers);

/// plan_xqa and xqa_decode for the rows that `xqa` serves, into `output`.
void record_xqa_route(Recorder& recorder, const AttentionBuffers& buffers, const XqaBuffers& xqa,
                      const OutputBuffers& output, const FaultSet& faults);

}  // namespace refrain
