// From the buffers and options of a step to the Args of its ops, faults included.
#pragma once

#include "kernels/grouped_attention.hpp"
#include "kernels/kv_append.hpp"
#include "kernels/pad_fix.hpp"
#include "kernels/plan_grouped.hpp"
#include "kernels/plan_xqa.hpp"
#include "kernels/xqa_decode.hpp"
#include "runtime/steps/attention/buffers.hpp"

namespace refrain {

[[nodiscard]] KvAppendArgs append_args(const AttentionBuffers& b);
[[nodiscard]] PlanGroupedArgs plan_grouped_args(const AttentionBuffers& b);
/// For the faults that move the padding's fix to where it does not help; else the planner does it.
[[nodiscard]] PadFixArgs pad_fix_args(const AttentionBuffers& b);
[[nodiscard]] GroupedAttentionArgs attention_args(const AttentionBuffers& b);
[[nodiscard]] PlanXqaArgs plan_xqa_args(const AttentionBuffers& b, const XqaBuffers& x, const FaultSet& faults);
[[nodiscard]] XqaDecodeArgs decode_args(const AttentionBuffers& b, const XqaBuffers& x, const OutputBuffers& output);

}  // namespace refrain
